import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

sensors = lambda t, q, v, lam, psi, args: {"place": q[0], "rate": v[0]}
spring = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -args["stiffness"] * q
)
start = fit.Start(jnp.ones(1), jnp.zeros(1))
model = fit.Model(spring, sensors, {"stiffness": fit.positive(4.0, "N/m")}, start, step=0.1)
times = jnp.linspace(0.0, 3.0, 61)
record = fit.record(times, {"place": jnp.cos(2 * times), "rate": 2 * jnp.sin(2 * times)})

remark = fit.check(model, record).remarks[0]
print(remark.weight, remark.about, remark.words, remark.cure)
assert remark.weight == "wrong" and "sign" in remark.cure  # the rate has the other one
