"""Small systems: the inverse by pivoted elimination, written out elementwise."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._implicit import lazily
from ._inverse import AbstractInverse


class ElementwiseInverse(AbstractInverse):
    """Inverts by Gauss-Jordan elimination, pivoting where it must.

    Everything is elementwise arithmetic and reductions: no call into LAPACK, which is slow on
    small matrices under `jax.vmap`, and on a GPU.
    """

    def invert(self, matrix: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
        return invert(matrix)

    def multiply(
        self, inverse: Float[Array, "n n"], rhs: Float[Array, "m n"]
    ) -> Float[Array, "m n"]:
        terms = [inverse[None, :, j] * rhs[:, j, None] for j in range(inverse.shape[0])]
        return sum(terms[1:], terms[0])


def invert(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    """The inverse by Gauss-Jordan elimination, and the smallest pivot after equilibration.

    Velocities are eliminated before multipliers, for which no row exchange is needed where
    the mass matrix is regular. Where a pivot is small all the same (a singular mass matrix),
    a second elimination exchanges rows, which costs nothing where it is not needed.
    """
    n = matrix.shape[0]
    if n == 0:
        return matrix, jnp.asarray(jnp.inf, matrix.dtype)
    scaled, rows, columns = _balance(matrix)
    inverse, smallest = _without_exchanges(scaled)
    good = smallest > jnp.finfo(matrix.dtype).eps ** 0.25
    inverse, smallest = lazily(~good, _with_exchanges, scaled, (inverse, smallest))
    return columns[:, None] * inverse * rows[None, :], smallest


def invert_definite(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a definite matrix, without exchanges; NaN if it is singular."""
    if matrix.shape[0] == 0:
        return matrix
    # Entries far from 1 would cancel in the elimination.
    scaled, rows, columns = _balance(matrix)
    inverse, smallest = _without_exchanges(scaled)
    inverse = jnp.where(smallest > 0, inverse, jnp.nan)
    return columns[:, None] * inverse * rows[None, :]


def _balance(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, " n"], Float[Array, " n"]]:
    """Scale to masses of 1, then constraints to maximum 1: `scaled = rows * matrix * columns`.

    Scaled by its largest entry, a row of K2 whose mass is small next to the gradients of its
    constraints would look as if it had none, and exchanges would be made without need.
    """
    diagonal = jnp.abs(jnp.diagonal(matrix))
    massive = diagonal > 0
    root = jnp.where(massive, jax.lax.rsqrt(jnp.where(massive, diagonal, 1)), 1)
    scaled = jnp.abs(root[:, None] * matrix * root[None, :])

    def reciprocal(axis):
        largest = jnp.max(scaled, axis)
        return jnp.where(massive | (largest == 0), root, 1 / jnp.where(largest > 0, largest, 1))

    rows, columns = reciprocal(1), reciprocal(0)
    return rows[:, None] * matrix * columns[None, :], rows, columns


def _without_exchanges(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    """In-place Gauss-Jordan elimination; each step is one elementwise operation."""
    n, dtype = matrix.shape[0], matrix.dtype
    pivots = []
    for k in range(n):
        unit = jnp.asarray(np.eye(n)[k], dtype)
        pivot = matrix[k, k]
        pivots.append(jnp.abs(pivot))
        safe = jnp.where(pivot == 0, 1, pivot)
        # a_ij - a_ik a_kj / a_kk, with row k divided by the pivot, column k by minus the
        # pivot, and its reciprocal in the corner: one rank-one update does it all.
        column, row = matrix[:, k] - unit, matrix[k] + unit
        matrix = matrix - column[:, None] * (row / safe)[None, :]
    return matrix, jnp.min(jnp.stack(pivots))


def _with_exchanges(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    """The same with partial pivoting; a loop, because it is rarely run but always compiled.

    Rows are picked by sums over all of them: nothing is looked up.
    """
    n, dtype = matrix.shape[0], matrix.dtype
    rows = jnp.arange(n)

    def body(k, carry):
        matrix, order, smallest = carry
        here = rows == k
        size = jnp.where(rows >= k, jnp.abs(_picked(matrix.T, here)), -1)
        there = rows == jnp.min(jnp.where(size == jnp.max(size), rows, n - 1))
        old, new = _picked(matrix, here), _picked(matrix, there)
        matrix = jnp.where(there[:, None], old[None, :], matrix)
        matrix = jnp.where(here[:, None], new[None, :], matrix)
        old_order, new_order = (jnp.sum(jnp.where(x, order, 0)) for x in (here, there))
        order = jnp.where(here, new_order, jnp.where(there, old_order, order))
        pivot = jnp.sum(jnp.where(here, new, 0))
        safe = jnp.where(pivot == 0, 1, pivot)
        unit = here.astype(dtype)
        column, row = _picked(matrix.T, here) - unit, new + unit
        matrix = matrix - column[:, None] * (row / safe)[None, :]
        return matrix, order, jnp.minimum(smallest, jnp.abs(pivot))

    start = (matrix, rows, jnp.asarray(jnp.inf, dtype))
    matrix, order, smallest = jax.lax.fori_loop(0, n, body, start)
    # Column k goes where row k came from; a sum, because sorting compiles slowly.
    here = order[None, :, None] == rows[None, None, :]
    return jnp.sum(jnp.where(here, matrix[:, :, None], 0), 1), smallest


def _picked(matrix: Float[Array, "n n"], chosen: Bool[Array, " n"]) -> Float[Array, " n"]:
    """The row that is chosen."""
    return jnp.sum(jnp.where(chosen[:, None], matrix, 0), 0)
