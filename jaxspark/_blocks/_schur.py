"""The matrix `B K^{-1} B^T` of a mechanism, joint by joint."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._jax_internals import computed_once
from ._entrywise import at, diagonal_of, flip, invert, last, times
from ._gather import take
from ._pattern import BlockMatrix, Pattern
from ._rounds import Rounds


def reciprocal_of(matrix: BlockMatrix) -> tuple[Array, Float[Array, ""]]:
    """`K^{-1}`, of diagonal blocks the diagonals alone, and its smallest pivot."""
    K = jnp.moveaxis(matrix.K, 0, -1)
    diagonal = diagonal_of(K)
    if not matrix.diagonal:
        return invert(K, diagonal)
    one = jnp.ones((), K.dtype)
    regular = jnp.where(jnp.all(diagonal != 0), one, 0)
    return 1 / jnp.where(diagonal == 0, 1, diagonal), regular


def lighten(masses: Array, x: Float[Array, "q k n"], transposed: bool = False) -> Array:
    """`K^{-1} x`."""
    if masses.ndim == 2:
        return masses[:, None, :] * x
    return times(flip(masses) if transposed else masses, x)


def sides_of(
    plan: Rounds, pattern: Pattern, B: Float[Array, "m 2 q"]
) -> tuple[Float[Array, "r q n"], ...]:
    """For each node its rows' entries in its first and in its second block."""
    rows = jnp.concatenate([B, jnp.zeros((1, *B.shape[1:]), B.dtype)])
    bodies = np.concatenate([pattern.rows, [[-1, -1]]])[plan.row_index]
    entries = jnp.transpose(take(rows, plan.row_index), (1, 2, 3, 0))  # (R, 2, q, n)
    sides = []
    for side in range(2):
        body = plan.nodes[:, side, None]
        second = np.where(body >= 0, bodies[:, :, 1] == body, bodies[:, :, 1] < 0)
        if (second == second[:1, :1]).all():
            chosen = entries[:, int(second.ravel()[:1].sum())]
        else:
            chosen = jnp.where(second.T[:, None, :], entries[:, 1], entries[:, 0])
        exists = (body >= 0) & ~plan.padded
        sides.append(chosen if exists.all() else jnp.where(exists.T[:, None, :], chosen, 0))
    return tuple(sides)


def schur_complement(
    plan: Rounds, masses: Float[Array, "*q nb"], sides: tuple[Float[Array, "r q n"], ...]
) -> tuple[Float[Array, "r r n"], Float[Array, "r r e"]]:
    """The blocks of `B K^{-1} B^T` on the diagonal, and those of the edges."""
    dtype = masses.dtype
    D = jnp.asarray(np.moveaxis(plan.padded[:, :, None] * np.eye(plan.R), 0, -1), dtype)
    light = []
    for side, rows in enumerate(sides):
        light.append(flip(lighten(at(masses, plan.nodes[:, side]), flip(rows), True)))
        D = D + times(light[side], flip(rows))
    light = computed_once(light)
    L = jnp.zeros((plan.R, plan.R, len(plan.edges)), dtype)
    for place in range(2):
        body = plan.shared[:, place]
        if (body < 0).all():
            continue
        first = _towards(light, plan.nodes, plan.edges[:, 0], body)
        second = _towards(sides, plan.nodes, plan.edges[:, 1], body)
        L = L + times(first, flip(second))
    return D, L


def _towards(sides: Any, blocks: np.ndarray, nodes: np.ndarray, body: np.ndarray) -> Array:
    """For each edge the rows of one of its nodes, in the block that it shares."""
    second = blocks[nodes, 1] == body
    if (second == second[:1]).all():
        chosen = last(sides[int(second[:1].sum())], nodes)
    else:
        a, b = (last(side, nodes) for side in sides)
        chosen = jnp.where(second, b, a)
    return chosen if (body >= 0).all() else jnp.where(body >= 0, chosen, 0)
