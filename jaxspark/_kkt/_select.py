"""Which linear solver, by the size of K2."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._system import FlatSystem
from ._base import AbstractLinearSolver
from ._dense import DenseLU
from ._elementwise import ElementwiseInverse, invert


# Measured by `python -m benchmarks figures core`.
ELEMENTWISE_LIMIT = 16


def select_linear_solver(system: FlatSystem) -> AbstractLinearSolver:
    """The elementwise inverse up to `nz + nlam + npsi = 16`, LAPACK above."""
    size = system.nz + system.nlam + system.npsi
    return ElementwiseInverse() if size <= ELEMENTWISE_LIMIT else DenseLU()


def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a matrix, elementwise if it is small."""
    if matrix.shape[0] <= ELEMENTWISE_LIMIT:
        return invert(matrix)[0]
    return jnp.linalg.inv(matrix)
