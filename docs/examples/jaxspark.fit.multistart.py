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
model = fit.Model(spring, observe, {"stiffness": fit.positive(1.0, "N/m")}, start, step=0.1)
times = jnp.linspace(0.0, 3.0, 31)
noise = 0.01 * jax.random.normal(jax.random.key(0), (31,))
record = fit.record(times, {"place": jnp.cos(2 * times) + noise})

best, reached = fit.multistart(model, record, count=4, spread=1.0)
print(best.values, reached)  # what each start came to
assert abs(best.values["stiffness"] - 4.0) < 4 * best.errors["stiffness"] < 0.1
