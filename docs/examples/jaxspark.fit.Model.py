import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2),
    lambda t, q, v, args: jnp.array([0.0, -args["gravity"]]),
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - args["length"],
)
model = fit.Model(
    pendulum,
    lambda t, q, v, lam, psi, args: {"angle": jnp.arctan2(q[0], -q[1])},
    {"length": fit.positive(1.0, "m"), "gravity": 9.81},
    fit.Start(jnp.array([0.01, -1.0]), jnp.zeros(2)),
    step=0.05,
)
times = jnp.linspace(0.0, 2.0, 41)
angle = fit.simulate(model, times).channels["angle"]
print(angle)  # a small swing
assert jnp.allclose(angle, 0.01 * jnp.cos(jnp.sqrt(9.81) * times), atol=1e-5)
