import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2),
    lambda t, q, v, args: jnp.array([0.0, -9.81]),
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - args["length"],
)
observe = lambda t, q, v, lam, psi, args: {"angle": jnp.arctan2(q[0], -q[1])}
guess = fit.Start(jnp.array([0.5, -0.7]), jnp.zeros(2))
model = fit.Model(pendulum, observe, {"length": fit.positive(0.8, "m")}, guess, step=0.05)

times = jnp.linspace(0.0, 2.0, 41)
clean = fit.simulate(model, times, {"length": 1.0}, state=(jnp.array([0.6, -0.8]), jnp.zeros(2)))
noise = 0.005 * jax.random.normal(jax.random.key(0), times.shape)
record = fit.record(times, {"angle": clean.channels["angle"] + noise})
found = fit.estimate(model, record, progress=False)
print(found.values, found.errors)
assert abs(found.values["length"] - 1.0) < 4 * found.errors["length"] < 0.1
