"""Small systems: an explicit inverse by pivoted elimination, written out elementwise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ._base import AbstractLinearSolver, equilibrate, KKTBlocks, singular_threshold


class _Inverses(eqx.Module):
    inverse2: Float[Array, "n2 n2"]
    inverse3: Float[Array, "n3 n3"] | None
    smallest_pivot: Float[Array, ""]


class ElementwiseInverse(AbstractLinearSolver):
    """Inverts K2 and K3 by Gauss-Jordan elimination with partial pivoting.

    Everything is elementwise arithmetic and reductions on `(n, 2n)` arrays: no call into
    LAPACK, which is slow on small matrices under `jax.vmap`. What an explicit inverse loses
    in accuracy, the modified Newton iteration around it does not notice.
    """

    def factor(self, blocks: KKTBlocks) -> _Inverses:
        inverse2, pivot2 = invert(blocks.K2)
        if blocks.k_z.shape[0] == 0:
            return _Inverses(inverse2, None, pivot2)
        inverse3, pivot3 = invert(blocks.K3)
        return _Inverses(inverse2, inverse3, jnp.minimum(pivot2, pivot3))

    def solve(
        self, factors: _Inverses, rhs2: Float[Array, "s n2"], rhs3: Float[Array, " n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, " n3"]]:
        inverse2 = factors.inverse2
        inverse3 = inverse2 if factors.inverse3 is None else factors.inverse3
        return _apply(inverse2, rhs2), _apply(inverse3, rhs3[None, :])[0]

    def solve_transposed(
        self, factors: _Inverses, rhs2: Float[Array, "s n2"], rhs3: Float[Array, " n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, " n3"]]:
        inverse3 = factors.inverse3
        transposed = _Inverses(
            factors.inverse2.T,
            None if inverse3 is None else inverse3.T,
            factors.smallest_pivot,
        )
        return self.solve(transposed, rhs2, rhs3)

    def regular(self, factors: _Inverses) -> Bool[Array, ""]:
        size = factors.inverse2.shape[0]
        return factors.smallest_pivot > singular_threshold(size, factors.inverse2.dtype)


def _apply(inverse: Float[Array, "n n"], rhs: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """`inverse @ rhs[i]` for every `i`, written out column by column."""
    terms = [inverse[None, :, j] * rhs[:, j, None] for j in range(inverse.shape[0])]
    return sum(terms[1:], terms[0])


def invert(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    """The inverse by Gauss-Jordan elimination, and the smallest pivot after equilibration.

    Velocities are eliminated before multipliers, for which no row exchange is needed where
    the mass matrix is regular. Where a pivot is small all the same (a singular mass matrix),
    a second elimination exchanges rows. It is the only trip of a loop that makes none
    otherwise, so that it costs nothing where it is not needed, under `jax.vmap` too.
    """
    n = matrix.shape[0]
    if n == 0:
        return matrix, jnp.asarray(jnp.inf, matrix.dtype)
    scaled, rows, columns = equilibrate(matrix)
    inverse, smallest = _without_exchanges(scaled)
    good = smallest > jnp.finfo(matrix.dtype).eps ** 0.25

    def body(carry):
        good, inverse, smallest, work = carry
        exchanged, pivot = _with_exchanges(work)
        return (
            jnp.asarray(True),
            jnp.where(good, inverse, exchanged),
            jnp.where(good, smallest, pivot),
            exchanged,
        )

    # The loop overwrites the matrix: what it changes, the compiler cannot hoist out of it.
    start = (good, inverse, smallest, scaled)
    _, inverse, smallest, _ = jax.lax.while_loop(lambda carry: ~carry[0], body, start)
    return columns[:, None] * inverse * rows[None, :], smallest


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
    """The same with partial pivoting; a loop, because it is rarely run but always compiled."""
    n, dtype = matrix.shape[0], matrix.dtype
    rows = jnp.arange(n)

    def body(k, carry):
        matrix, order, smallest = carry
        size = jnp.where(rows >= k, jnp.abs(matrix[:, k]), -1)
        p = jnp.argmax(size)
        exchange = jnp.where(rows == k, p, jnp.where(rows == p, k, rows))
        matrix, order = matrix[exchange], order[exchange]
        pivot = matrix[k, k]
        safe = jnp.where(pivot == 0, 1, pivot)
        unit = (rows == k).astype(dtype)
        column, row = matrix[:, k] - unit, matrix[k] + unit
        matrix = matrix - column[:, None] * (row / safe)[None, :]
        return matrix, order, jnp.minimum(smallest, jnp.abs(pivot))

    start = (matrix, rows, jnp.asarray(jnp.inf, dtype))
    matrix, order, smallest = jax.lax.fori_loop(0, n, body, start)
    return matrix[:, jnp.argsort(order)], smallest
