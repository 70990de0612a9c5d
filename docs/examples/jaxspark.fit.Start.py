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
observe = lambda t, q, v, lam, psi, args: {"x": q[0], "y": q[1], "along": q @ v}
guess = fit.Start(jnp.array([0.5, -0.7]), jnp.array([1.0, 0.0]))  # off the constraint
model = fit.Model(pendulum, observe, {"length": fit.positive(1.0, "m")}, guess, step=0.05)

shown = fit.simulate(model, jnp.linspace(0.0, 0.5, 6)).channels
print(shown["x"][0], shown["y"][0])  # the nearest place and velocity on it
assert jnp.allclose(shown["x"] ** 2 + shown["y"] ** 2, 1.0) and abs(shown["along"][0]) < 1e-12
