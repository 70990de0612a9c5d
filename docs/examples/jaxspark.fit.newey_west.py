import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

noise = jax.random.normal(jax.random.key(0), (2000,))
values = jax.lax.scan(lambda x, e: (0.8 * x + e, 0.8 * x + e), 0.0, noise)[1]  # correlated
J, r = jnp.ones((2000, 1)), values.mean() - values

white, aware = (jnp.sqrt(fit.newey_west(J, r, lags)[0, 0]) for lags in (0, 50))
print(white, aware)  # standard errors of the mean; in truth 3 times that of white noise
assert jnp.isclose(white, jnp.std(values, ddof=1) / 2000**0.5) and 2 < aware / white < 4
