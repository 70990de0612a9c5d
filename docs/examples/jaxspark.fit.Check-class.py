import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

spring = jaxspark.MechanicalSystem(
    lambda t, q, args: args["mass"] * jnp.eye(1), lambda t, q, v, args: -args["stiffness"] * q
)
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
start = fit.Start(jnp.ones(1), jnp.zeros(1), unknown="nothing")
unknown = {"mass": fit.positive(1.0, "kg"), "stiffness": fit.positive(3.0, "N/m")}
model = fit.Model(spring, observe, unknown, start, step=0.1)
record = fit.simulate(model, jnp.linspace(0.0, 3.0, 31), {"stiffness": 4.0})

looked = fit.check(model, record)
for remark in looked.remarks:
    print(remark.weight, remark.about, remark.words, remark.cure)
assert (looked.told, looked.parameters, looked.good) == (1, 2, False)
