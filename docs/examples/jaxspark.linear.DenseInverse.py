import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

solver = jaxspark.linear.DenseInverse()
matrix = jnp.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [1.0, 1.0, 0.0]])  # masses, with a border
inverse, pivot = solver.invert(matrix)
print(inverse, pivot)
assert jnp.allclose(inverse @ matrix, jnp.eye(3), atol=1e-14)
assert solver.invert(jnp.ones((3, 3)))[1] < 1e-14  # the smallest pivot tells that it is singular
