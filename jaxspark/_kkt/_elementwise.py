"""Small systems: an explicit inverse by pivoted elimination, written out elementwise."""

import equinox as eqx
import jax.numpy as jnp
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
        solution2 = jnp.sum(inverse2[None, :, :] * rhs2[:, None, :], 2)
        solution3 = jnp.sum(inverse3 * rhs3[None, :], 1)
        return solution2, solution3

    def regular(self, factors: _Inverses) -> Bool[Array, ""]:
        size = factors.inverse2.shape[0]
        return factors.smallest_pivot > singular_threshold(size, factors.inverse2.dtype)


def invert(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    """The inverse by Gauss-Jordan elimination, and the smallest pivot after equilibration.

    Rows are not exchanged: each column takes its pivot from the rows not yet used, and one
    gather at the end restores the order.
    """
    n = matrix.shape[0]
    dtype = matrix.dtype
    scaled, rows, columns = equilibrate(matrix)
    rest = jnp.concatenate([scaled, jnp.eye(n, dtype=dtype)], 1)
    free = jnp.ones(n, dtype)
    # Breaks ties between equal pivots, so that exactly one row is chosen.
    preference = 1 - 4 * jnp.finfo(dtype).eps * jnp.arange(n, dtype=dtype)
    smallest = jnp.asarray(jnp.inf, dtype)
    order = []
    for _ in range(n):
        column = rest[:, 0]
        size = jnp.abs(column) * free * preference
        largest = jnp.max(size)
        chosen = (size == largest) & (free > 0)
        order.append(jnp.argmax(chosen))
        mark = chosen.astype(dtype)
        row = jnp.sum(mark[:, None] * rest, 0)
        pivot = row[0]
        pivot = jnp.where(pivot == 0, 1, pivot)
        rest = rest[:, 1:] - (column - mark)[:, None] * (row[1:] / pivot)[None, :]
        free = free * (1 - mark)
        smallest = jnp.minimum(smallest, largest)
    if n == 0:
        return matrix, smallest
    inverse = columns[:, None] * rest[jnp.stack(order)] * rows[None, :]
    return inverse, smallest
