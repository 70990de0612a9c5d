"""Bases of the directions that the rows of a block hold, and of those that they leave free."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ._small import inverse, product, transpose, WRITTEN_OUT


class Basis(eqx.Module):
    """`B Y = I` and `B S = 0` for each `B` of a batch.

    - `Y`: a right inverse.
    - `S`: a basis of the null space.
    - `pivot`: the smallest pivot relative to its row; zero where rows are dependent.
    - `idle`: of redundant rows, which columns of `S` are no directions but zero; else `None`.
    - `null`: the combination of rows that is closest to zero, of norm 1; else `None`.
    """

    Y: Float[Array, "n q r"]
    S: Float[Array, "n q d"]
    pivot: Float[Array, " n"]
    idle: Bool[Array, "n d"] | None = None
    null: Float[Array, "n r"] | None = None


def orthogonal_basis(B: Float[Array, "n r q"]) -> Basis:
    """By a QR factorisation of `B^T`: `Y = Q_1 R^{-T}` and `S = Q_2`.

    It needs no choice of pivots, which would be right in some configurations and wrong in others.

    Source: M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*, Acta
    Numerica 14 (2005), section 6.
    """
    n, r, q = B.shape
    norms = jnp.sqrt(jnp.sum(B * B, 2))
    norms = jnp.where(norms > 0, norms, 1)
    A = transpose(B / norms[:, :, None])
    if r == 0:
        identity = jnp.broadcast_to(jnp.eye(q, dtype=B.dtype), (n, q, q))
        return Basis(jnp.zeros((n, q, 0), B.dtype), identity, jnp.ones(n, B.dtype))
    if r > WRITTEN_OUT:
        full, upper = jnp.linalg.qr(A, mode="complete")
    else:
        full, upper = _householder(A)
    diagonal = jnp.diagonal(upper[:, :r, :r], axis1=1, axis2=2)
    safe = jnp.where(diagonal == 0, 1, diagonal)
    columns: list[Array] = [jnp.zeros((n, q), B.dtype)] * r
    for k in reversed(range(r)):
        known = [columns[j] * upper[:, k, j, None] for j in range(k + 1, r)]
        columns[k] = (full[:, :, k] - sum(known)) / safe[:, k, None]
    Y = jnp.stack(columns, 2) / norms[:, None, :]
    return Basis(Y, full[:, :, r:], jnp.min(jnp.abs(diagonal), 1))


def _householder(
    A: Float[Array, "n q r"],
) -> tuple[Float[Array, "n q q"], Float[Array, "n q r"]]:
    """The complete QR factorisation of each matrix, by reflections."""
    _, q, r = A.shape
    reflections = []
    for j in range(min(q, r)):
        below = jnp.asarray(np.arange(q) >= j, A.dtype)
        x = A[:, :, j] * below[None, :]
        size = jnp.sqrt(jnp.sum(x * x, 1))
        head = x[:, j]
        pivot = jnp.where(head >= 0, -size, size)
        v = x - pivot[:, None] * jnp.asarray(np.arange(q) == j, A.dtype)[None, :]
        square = jnp.sum(v * v, 1)
        scaled = v * (2 / jnp.where(square > 0, square, 1))[:, None]
        A = A - scaled[:, :, None] * jnp.sum(v[:, :, None] * A, 1)[:, None, :]
        reflections.append((v, scaled))
    full = jnp.broadcast_to(jnp.eye(q, dtype=A.dtype), (A.shape[0], q, q))
    for v, scaled in reversed(reflections):
        full = full - scaled[:, :, None] * jnp.sum(v[:, :, None] * full, 1)[:, None, :]
    return full, A


def pivoted_basis(B: Float[Array, "n r q"], columns: Int[np.ndarray, "n q"]) -> Basis:
    """By elimination of given unknowns: `Y = [B_1^{-1}; 0]` and `S = [-B_1^{-1} B_2; I]`.

    **Arguments:**

    - `B`: the rows.
    - `columns`: for each block its unknowns, the `r` to be eliminated first.

    Source: P. Areias, *A dimensional reduction algorithm and software for acyclically dependent
    constraints*, equations (4) and (5).
    """
    n, r, q = B.shape
    sorted_B = jnp.take_along_axis(B, jnp.asarray(columns)[:, None, :], 2)
    norms = jnp.sqrt(jnp.sum(B * B, 2))
    norms = jnp.where(norms > 0, norms, 1)
    scaled = sorted_B / norms[:, :, None]
    B1, B2 = scaled[:, :, :r], scaled[:, :, r:]
    # By the normal equations no order of elimination is to be chosen.
    inverted, _ = inverse(product(transpose(B1), B1))
    inverted = product(inverted, transpose(B1))
    size = jnp.sqrt(jnp.sum(inverted * inverted, (1, 2))) if r else jnp.ones(n, B.dtype)
    free = jnp.broadcast_to(jnp.eye(q - r, dtype=B.dtype), (n, q - r, q - r))
    Y = jnp.concatenate([inverted, jnp.zeros((n, q - r, r), B.dtype)], 1) / norms[:, None, :]
    S = jnp.concatenate([-product(inverted, B2), free], 1)
    back = jnp.asarray(np.argsort(columns, 1))[:, :, None]
    Y, S = (jnp.take_along_axis(x, back, 1) for x in (Y, S))
    return Basis(Y, S, jnp.where(jnp.isfinite(size), 1 / size, 0))


def redundant_basis(B: Float[Array, "n r q"]) -> Basis:
    """By a singular value decomposition: rows may depend on each other.

    `Y` is then a generalised inverse, `B Y B = B`, for which `Y^T` gives multipliers of minimum
    norm; `pivot` is the smallest singular value that does not count as zero.

    Source: M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*, Acta
    Numerica 14 (2005), section 2; Å. Björck, *Numerical Methods for Least Squares Problems*,
    section 1.2, for minimum norms.
    """
    n, r, q = B.shape
    norms = jnp.sqrt(jnp.sum(B * B, 2))
    norms = jnp.where(norms > 0, norms, 1)
    left, values, right = jnp.linalg.svd(B / norms[:, :, None], full_matrices=True)
    values = jnp.concatenate([values, jnp.zeros((n, q - values.shape[1]), B.dtype)], 1)
    active = values > weakest(B.dtype) * jnp.max(values, 1, keepdims=True, initial=0)
    reciprocal = jnp.where(active, 1 / jnp.where(active, values, 1), 0)
    # One column for each singular value, of which there are no more than rows.
    columns = jnp.pad(left, [(0, 0), (0, 0), (0, max(0, q - r))])[:, :, :q]
    Y = product(transpose(right) * reciprocal[:, None, :], transpose(columns))
    # Dependent combinations of the rows themselves, not of the scaled ones.
    among = jnp.pad(active, [(0, 0), (0, max(0, r - q))])[:, :r]
    dependent = jnp.where(among[:, None, :], 0, left / norms[:, :, None])
    off = product(dependent, jnp.linalg.pinv(dependent))
    Y = Y / norms[:, None, :]
    Y = Y - product(Y, off)
    null = jnp.zeros((n, 0), B.dtype)
    if r:
        null = left[:, :, -1] / norms
        null = null / jnp.sqrt(jnp.sum(null * null, 1, keepdims=True))
    S = jnp.where(active[:, None, :], 0, transpose(right))
    pivot = jnp.min(jnp.where(active, values, jnp.inf), 1, initial=1)
    return Basis(Y, S, pivot, active, null)


def weakest(dtype: Any) -> float:
    """Pivots relative to their rows below this are no pivots: 1e-10 in double precision."""
    return float(jnp.finfo(dtype).eps) ** 0.64
