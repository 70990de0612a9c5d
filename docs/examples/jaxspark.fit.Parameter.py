import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

mass = fit.positive(2.0, "kg", prior=fit.LogNormal(2.0, 1.1))

print(mass.start, mass.size, mass.held, mass.per_trial)
u = jnp.log(jnp.array([1.1]))  # its coordinate: the logarithm of value over start
assert isinstance(mass, fit.Parameter) and jnp.allclose(mass.prior_residuals(u), 1.0)
