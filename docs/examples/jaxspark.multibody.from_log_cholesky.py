import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

u = jax.random.normal(jax.random.key(0), (1000, 10))  # any numbers are bodies
bodies = multibody.from_log_cholesky(u)
moments = jnp.linalg.eigvalsh(bodies["inertia"])
print(bodies["mass"].min(), moments.min())
assert jnp.all(bodies["mass"] > 0)
assert jnp.all(moments[:, 2] < moments[:, 0] + moments[:, 1])
