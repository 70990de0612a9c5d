import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

spring = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -args["stiffness"] * q
)
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
start = fit.Start(jnp.ones(1), jnp.zeros(1), unknown="nothing")
model = fit.Model(spring, observe, {"stiffness": fit.positive(3.0, "N/m")}, start, step=0.1)

record = fit.simulate(model, jnp.linspace(0.0, 3.0, 31), {"stiffness": 4.0})
print(record)
assert jnp.allclose(record.channels["place"], jnp.cos(2 * record.times), atol=1e-4)
