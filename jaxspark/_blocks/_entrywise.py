"""Batches of small matrices stored entry by entry, `(i, j, n)`.

What is done to all of them at a time runs along the last axis, as vector units want it.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._gather import take
from ._small import inverse


def at(x: Float[Array, "*q nb"], body: np.ndarray) -> Float[Array, "*q n"]:
    """The entries of `x` for a block of each node, zero for the ground."""
    if (body >= 0).all():
        return last(x, body)
    x = jnp.concatenate([jnp.zeros((*x.shape[:-1], 1), x.dtype), x], -1)
    return last(x, body + 1)


def last(values: Array, index: np.ndarray) -> Array:
    """`values[..., index]`, zero one beyond the end."""
    size = values.shape[-1]
    missing = index == size
    if missing.all():
        return jnp.zeros((*values.shape[:-1], len(index)), values.dtype)
    if missing.any():
        # A zero on the side on which it keeps the positions regular.
        before = missing[0] and not missing[-1]
        index = np.where(missing, -1, index) + 1 if before else index
        zero = jnp.zeros((*values.shape[:-1], 1), values.dtype)
        values = jnp.concatenate([zero, values] if before else [values, zero], -1)
    return jnp.moveaxis(take(jnp.moveaxis(values, -1, 0), index), 0, -1)


def times(a: Float[Array, "r s n"], b: Float[Array, "s t n"]) -> Float[Array, "r t n"]:
    terms = [a[:, j, None] * b[None, j] for j in range(a.shape[1])]
    return sum(terms[1:], terms[0])


def flip(a: Float[Array, "r s n"]) -> Float[Array, "s r n"]:
    return jnp.swapaxes(a, 0, 1)


def diagonal_of(a: Float[Array, "r r n"]) -> Float[Array, "r n"]:
    return jnp.stack([a[i, i] for i in range(a.shape[0])]) if a.shape[0] else a[0:0, 0]


def invert(
    a: Float[Array, "r r n"], size: Float[Array, "r n"]
) -> tuple[Float[Array, "r r n"], Float[Array, ""]]:
    """The inverses of definite matrices, and the smallest pivot in units of `size`.

    Where that is small, so much has cancelled.
    """
    r, n = a.shape[0], a.shape[2]
    one = jnp.ones((), a.dtype)
    if r == 0 or n == 0:
        return a, one
    if r == 1:
        return 1 / jnp.where(a == 0, 1, a), jnp.min(a[0, 0] / jnp.where(size == 0, 1, size)[0])
    if r > 3:
        inverted, good = inverse(jnp.moveaxis(a, -1, 0))
        inverted = jnp.moveaxis(inverted, 0, -1)
        ratios = 1 / jnp.abs(size * diagonal_of(inverted))
        return inverted, jnp.where(jnp.all(good), jnp.min(ratios), 0)
    cofactors = _cofactors(a)
    determinant = jnp.sum(a[0] * cofactors[0], 0)
    volume = size[0] * size[1] * (size[2] if r == 3 else 1)
    reciprocal = 1 / jnp.where(determinant == 0, 1, determinant)
    ratio = determinant / jnp.where(volume == 0, 1, volume)
    return flip(cofactors) * reciprocal[None, None, :], jnp.min(ratio)


def _cofactors(a: Float[Array, "r r n"]) -> Float[Array, "r r n"]:
    """Of matrices with two or three rows."""
    if a.shape[0] == 2:
        return jnp.stack([a[1, 1], -a[1, 0], -a[0, 1], a[0, 0]]).reshape(a.shape)

    def cofactor(i, j):
        (p, q), (r, s) = ([(x + 1) % 3, (x + 2) % 3] for x in (i, j))
        return a[p, r] * a[q, s] - a[p, s] * a[q, r]

    return jnp.stack([cofactor(i, j) for i in range(3) for j in range(3)]).reshape(a.shape)
