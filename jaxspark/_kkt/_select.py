"""Which linear solver, by the size of K2."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._system import FlatSystem
from ._base import AbstractLinearSolver, singular_threshold
from ._dense import DenseLU, lu_factors
from ._elementwise import ElementwiseInverse, invert


# Measured by `python -m benchmarks figures core`.
ELEMENTWISE_LIMIT = 16


def select_linear_solver(system: FlatSystem) -> AbstractLinearSolver:
    """The elementwise inverse up to `nz + nlam + npsi = 16`, LAPACK above."""
    size = system.nz + system.nlam + system.npsi
    return ElementwiseInverse() if size <= ELEMENTWISE_LIMIT else DenseLU()


def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a matrix, elementwise if it is small; NaN if it is singular."""
    size, dtype = matrix.shape[0], matrix.dtype
    if size <= ELEMENTWISE_LIMIT:
        value, smallest = invert(matrix)
    else:
        factors = lu_factors(matrix)
        value, smallest = factors.solve(jnp.eye(size, dtype=dtype)).T, factors.smallest_pivot()
    return jnp.where(smallest > singular_threshold(size, dtype), value, jnp.nan)
