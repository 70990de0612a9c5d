"""Batches of small matrices: products and inverses, written out elementwise."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


# Beyond this a library's product, and its inverse with row exchanges, are faster.
WRITTEN_OUT = 8


def product(a: Float[Array, "*n i j"], b: Float[Array, "*n j k"]) -> Float[Array, "*n i k"]:
    """`a @ b` for each matrix of a batch."""
    inner = a.shape[-1]
    if inner == 0:
        return jnp.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    if inner > WRITTEN_OUT:
        return a @ b
    terms = [a[..., :, j, None] * b[..., None, j, :] for j in range(inner)]
    return sum(terms[1:], terms[0])


def both_ends(rows: Float[Array, "m 2 q"], there: Float[Array, "m 2 q k"]) -> Float[Array, "m k"]:
    """Each row, of two blocks, times what is in these blocks.

    Written out, too: of long arrays XLA hands sums over a few entries to a library that is made
    for sums over many, and takes ten times as long.
    """
    first, second = (product(rows[:, side, None, :], there[:, side]) for side in range(2))
    return (first + second)[:, 0]


def transpose(a: Float[Array, "*n i j"]) -> Float[Array, "*n j i"]:
    """The transpose of each matrix of a batch."""
    return jnp.swapaxes(a, -1, -2)


def inverse(a: Float[Array, "*n i i"]) -> tuple[Float[Array, "*n i i"], Bool[Array, "*n"]]:
    """The inverse of each matrix of a batch, and whether it is regular to working precision.

    Up to 8 rows by Gauss-Jordan elimination without exchanges, which definite matrices do not
    need; by LAPACK above. A pivot counts as zero where it is rounding error next to the diagonal
    entry that it started from.
    """
    n, epsilon = a.shape[-1], jnp.finfo(a.dtype).eps
    if n == 0:
        return a, jnp.ones(a.shape[:-2], bool)
    scale = jnp.sqrt(jnp.abs(jnp.diagonal(a, axis1=-2, axis2=-1)))
    scale = jnp.where(scale > 0, scale, 1)
    if n > WRITTEN_OUT:
        scaled = a / (scale[..., :, None] * scale[..., None, :])
        # On a GPU the factors of a matrix with NaN in it can be finite.
        finite = jnp.all(jnp.isfinite(scaled), (-2, -1), keepdims=True)
        inverted = jnp.where(finite, jnp.linalg.inv(scaled), jnp.nan)
        size = jnp.max(jnp.abs(inverted), (-2, -1))
        return inverted / (scale[..., :, None] * scale[..., None, :]), size * 8 * n * epsilon < 1
    work, good = a, jnp.ones(a.shape[:-2], bool)
    for k in range(n):
        pivot = work[..., k, k]
        started = jnp.abs(a[..., k, k])
        good = good & (jnp.abs(pivot) > 8 * n * epsilon * started)
        reciprocal = 1 / jnp.where(pivot == 0, 1, pivot)
        column = work[..., :, k] * reciprocal[..., None]
        row = work[..., k, :]
        others = work - column[..., :, None] * row[..., None, :]
        index = jnp.arange(n)
        in_row, in_column = index[:, None] == k, index[None, :] == k
        work = jnp.where(in_row, row[..., None, :] * reciprocal[..., None, None], others)
        work = jnp.where(in_column, -column[..., :, None], work)
        work = jnp.where(in_row & in_column, reciprocal[..., None, None], work)
    return work, good
