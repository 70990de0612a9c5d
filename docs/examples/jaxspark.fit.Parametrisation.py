import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

unknown = {"mass": fit.positive(2.0, "kg"), "zero": fit.real(0.1, "rad"), "gravity": 9.81}
made = fit.parametrise(unknown, num_trials=1)

values = jnp.array([1.5, -0.2])
u = made.unconstrained(values)
print(made.names, made.units, u, made.args(u))
assert jnp.allclose(made.physical(u), values) and made.args(u)["gravity"] == 9.81
