import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

falling = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -jnp.sqrt(q - args["floor"])
)
observe = lambda t, q, v, lam, psi, args: {"height": q[0]}
start = fit.Start(jnp.ones(1), jnp.zeros(1))
model = fit.Model(falling, observe, {"floor": fit.real(0.0, "m")}, start, step=0.05)
try:
    fit.simulate(model, jnp.linspace(0.0, 5.0, 51))
except fit.SimulationError as error:
    message = str(error)
print(message)  # when and why
assert "force[0] is nan at t = 1.5" in message
