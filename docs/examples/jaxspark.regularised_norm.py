import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

x = jnp.array([3.0, 4.0])
print(jaxspark.regularised_norm(x, 12.0))
slope = jax.grad(jaxspark.regularised_norm)(jnp.zeros(2), 12.0)
assert jaxspark.regularised_norm(x, 12.0) == 13.0 and jnp.array_equal(slope, jnp.zeros(2))
