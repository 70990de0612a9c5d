import functools

import jax
import jax.numpy as jnp

from jaxspark.linear import AbstractBlockSolver, AcyclicNullSpace, BlockMatrix, Pattern, RangeSpace


jax.config.update("jax_enable_x64", True)

pattern = Pattern([2, 2], [(0, -1), (1, 0)])  # two blocks, one row to the ground, one between them
B = jnp.array([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]])
matrix = BlockMatrix(2.0 * jnp.stack([jnp.eye(2)] * 2), B)


@functools.partial(jax.jit, static_argnums=0)
def solution(solver: AbstractBlockSolver, f, g):
    return solver.solve_blocks(pattern, solver.factor_blocks(pattern, matrix), f, g)


for solver in (AcyclicNullSpace(), RangeSpace()):
    x, lam = solution(solver, jnp.array([[[0.0], [2.0]], [[6.0], [4.0]]]), jnp.zeros((2, 1)))
    print(x.ravel(), lam.ravel())
    assert jnp.allclose(x.ravel(), jnp.array([0.0, 1.0, 0.0, 2.0])) and jnp.allclose(lam, 6.0)
