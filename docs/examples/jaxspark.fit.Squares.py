import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

loss = fit.Squares()  # that of fit.Model(...) without another one
s = jnp.array([0.0, 1.0, 9.0])

print(loss.rho(s), fit.Huber().rho(s), fit.Cauchy().rho(s))
noise = jax.random.normal(jax.random.key(0), (100, 1))
sigma = loss.scale(noise, jnp.ones((100, 1), bool), 0.98)
assert jnp.allclose(loss.rho(s), s) and jnp.allclose(sigma**2, jnp.sum(noise**2) / 98)
