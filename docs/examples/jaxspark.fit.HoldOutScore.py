import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

r = 1.5 * jax.random.normal(jax.random.key(0), (50,))  # half as much again as the noise
score = fit.hold_out_score(r)

print(score.samples, score.ratio, score.log_density, score.log_density_each)
assert score.samples == 50 and jnp.isclose(score.ratio, jnp.sqrt(jnp.mean(r**2)))
