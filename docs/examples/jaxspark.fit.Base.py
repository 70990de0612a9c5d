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
base = fit.base_parameters(model, fit.simulate(model, jnp.linspace(0.0, 2.0, 41)))

print(base)  # the motions tell 1 of 2 combinations
print(base.of({"mass": 2.0, "stiffness": 8.0}))
off = base.compare({"mass": 2.0, "stiffness": 8.8}, {"mass": 1.0, "stiffness": 4.0})
print(off)  # the ratio differs by a tenth
assert base.rank == 1 and jnp.isclose((1 + off["stiffness"]) / (1 + off["mass"]), 1.1)
