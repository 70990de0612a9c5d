import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

block = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: args["inputs"]["push"](t)[None]
)
model = fit.Model(
    block,
    lambda t, q, v, lam, psi, args: {"rate": v[0]},
    {"late": fit.real(0.5, "s")},
    fit.Start(jnp.zeros(1), jnp.zeros(1)),
    step=0.1,
    inputs={"push": fit.Input("linear", delay="late")},
)
times = jnp.linspace(0.0, 2.0, 21)
record = fit.simulate(model, times, inputs={"push": times})
print(record.channels["rate"])  # the push is felt half a second after it was logged
assert jnp.allclose(record.channels["rate"], jnp.maximum(times - 0.5, 0.0) ** 2 / 2)
