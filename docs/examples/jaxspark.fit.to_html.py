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
unknown = {"stiffness": fit.positive(3.0, "N/m")}
model = fit.Model(spring, observe, unknown, start, step=0.1, title="A spring")
times = jnp.linspace(0.0, 3.0, 31)
noise = 0.01 * jax.random.normal(jax.random.key(0), (31,))
record = fit.record(times, {"place": jnp.cos(2 * times) + noise})
findings = fit.estimate(model, record, progress=False).findings()

page = fit.to_html(findings)
print(page[:100])
assert "A spring" in page and "stiffness" in page and "<script src" not in page
