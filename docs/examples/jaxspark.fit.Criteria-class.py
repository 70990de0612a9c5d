import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

r = jax.random.normal(jax.random.key(0), (100,))  # residuals, in standard deviations
found = fit.criteria(r, num_unknowns=3, noise_known=True)

print(found.log_likelihood, found.aic, found.bic)
expected = jax.scipy.stats.norm.logpdf(r).sum()
assert jnp.isclose(found.bic, 3 * jnp.log(100) - 2 * expected)
