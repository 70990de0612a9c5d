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
times = jnp.linspace(0.0, 3.0, 31)
truth = jnp.linspace(3.5, 4.5, 4)
noise = 0.01 * jax.random.normal(jax.random.key(0), (4, 31))
values = jnp.cos(jnp.sqrt(truth)[:, None] * times) + noise
records = [fit.record(times, {"place": own}) for own in values]

table = fit.each(model, records, progress=False)
print(table.names, table.values, table.status, table.rms)
assert table.to_csv("table.csv").read_text().count("\n") == 5 and set(table.status) == {"converged"}
