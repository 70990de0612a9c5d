import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)


class Welsch(fit.AbstractLoss):
    def rho(self, s):
        return 9 * (1 - jnp.exp(-s / 9))

    def weight(self, s):
        return jnp.exp(-s / 9)


loss = Welsch()  # goes into fit.Model(..., loss=loss)
noise = jax.random.normal(jax.random.key(0), (1000, 1)).at[:50].set(100.0)
sigma = loss.scale(noise, jnp.ones((1000, 1), bool), 1.0)
print(sigma, "and not", jnp.std(noise))
assert jnp.isclose(sigma[0], 1.0, atol=0.2)
