import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

damped = jaxspark.MechanicalSystem(
    lambda t, q, args: args["mass"] * jnp.eye(1),
    lambda t, q, v, args: -args["stiffness"] * q - args["damping"] * v,
)
unknown = {name: fit.positive(1.0) for name in ("mass", "stiffness", "damping")}
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
model = fit.Model(damped, observe, unknown, fit.Start(jnp.ones(1), jnp.zeros(1)), step=0.1)
record = fit.simulate(model, jnp.linspace(0.0, 2.0, 41))
base = fit.base_parameters(model, record)
print(base)
assert base.rank == 2 and len(base.units) == 1
