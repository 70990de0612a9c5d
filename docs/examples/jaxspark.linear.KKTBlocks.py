import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# A unit mass on a rod, at its lowest point and at rest: the constraint is its height.
G = jnp.array([[0.0, -1.0]])
blocks = jaxspark.linear.KKTBlocks(
    p_z=jnp.eye(2), r_lam=-G.T, f_psi=jnp.zeros((2, 0)), gdot_z=G, k_z=jnp.zeros((0, 2)), v_z=None
)
solver = jaxspark.linear.DenseLU()
factors = solver.factor(blocks)
_, (solution,) = solver.solve(factors, jnp.zeros((0, 3)), jnp.array([[0.0, -9.81, 0.0]]))
print(blocks.K3, solution)
assert solver.regular(factors) and blocks.end_is_K2
assert jnp.allclose(solution, jnp.array([0.0, 0.0, 9.81]))  # no acceleration, and the tension
