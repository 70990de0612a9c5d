import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

r = jax.random.normal(jax.random.key(0), (50,))  # of data not fitted, in standard deviations
score = fit.hold_out_score(r, sigma=jnp.full(50, 0.02))

print(score.ratio, score.log_density_each)  # 1 for a perfect model
expected = jax.scipy.stats.norm.logpdf(0.02 * r, scale=0.02).sum()
assert jnp.isclose(score.log_density, expected)
