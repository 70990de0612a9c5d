"""Which linear solver, by the size of K2."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._system import FlatSystem
from ._base import AbstractLinearSolver, singular_threshold
from ._dense import DenseLU
from ._elementwise import ElementwiseInverse
from ._inverse import AbstractInverse, DenseInverse


# Measured by `python -m benchmarks figures core`.
ELEMENTWISE_LIMIT = 16
INVERSE_LIMIT = 32


def select_linear_solver(system: FlatSystem) -> AbstractLinearSolver:
    """The elementwise inverse up to `nz + nlam + npsi = 16`, LAPACK's up to 32, then LU."""
    size = system.nz + system.nlam + system.npsi
    return DenseLU() if size > INVERSE_LIMIT else _select_inverse(size)


def _select_inverse(size: int) -> AbstractInverse:
    return ElementwiseInverse() if size <= ELEMENTWISE_LIMIT else DenseInverse()


def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a matrix, elementwise if it is small; NaN if it is singular."""
    size, dtype = matrix.shape[0], matrix.dtype
    value, smallest = _select_inverse(size).invert(matrix)
    return jnp.where(smallest > singular_threshold(size, dtype), value, jnp.nan)
