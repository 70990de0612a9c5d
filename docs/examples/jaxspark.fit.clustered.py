import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

values = 1 + jnp.repeat(jax.random.normal(jax.random.key(0), (8,)), 25)  # 8 windows alike inside
r = values.mean() - values
covariance = fit.clustered(jnp.ones((200, 1)), r, jnp.repeat(jnp.arange(8), 25))

means = values.reshape(8, 25).mean(1)
print(jnp.sqrt(covariance), "and not", values.std() / 200**0.5)
assert jnp.allclose(covariance[0, 0], jnp.var(means, ddof=1) / 8)
