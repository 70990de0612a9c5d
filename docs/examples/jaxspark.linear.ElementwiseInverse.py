import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

solver = jaxspark.linear.ElementwiseInverse()
matrices = jax.random.normal(jax.random.key(0), (100, 4, 4)) + 4 * jnp.eye(4)
inverses, pivots = jax.vmap(solver.invert)(matrices)
error = jnp.max(jnp.abs(inverses @ matrices - jnp.eye(4)))
print(error, jnp.min(pivots))
assert error < 1e-11
