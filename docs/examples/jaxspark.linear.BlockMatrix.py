import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pattern = jaxspark.linear.Pattern([2, 2], [(0, -1), (1, 0)])
K = jnp.stack([jnp.diag(jnp.array([1.0, 2.0])), jnp.diag(jnp.array([3.0, 4.0]))])
# The first row touches block 0 and the ground, the second blocks 1 and 0.
B = jnp.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, -1.0]]])
matrix = jaxspark.linear.BlockMatrix(K, B, diagonal=True)

solver = jaxspark.linear.AcyclicNullSpace()
factors = solver.factor_blocks(pattern, matrix)
f, g = jnp.array([[[1.0], [2.0]], [[3.0], [4.0]]]), jnp.zeros((2, 1))
x, lam = solver.solve_blocks(pattern, factors, f, g)
print(x[..., 0], lam[:, 0])
assert jnp.allclose(x[..., 0], jnp.array([[0.0, 1.0], [1.0, 1.0]]))
assert jnp.allclose(lam[:, 0], jnp.array([1.0, 0.0]))
