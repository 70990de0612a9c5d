"""Sparse bases of null spaces, so that separate causes have separate vectors."""

from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int


# Relative error of Jacobians, as a share of the tolerance of singular values.
_JACOBIAN_ERROR = 1e-2


def rounding(singular_values: Float[np.ndarray, " p"], rank: int, rtol: float = 1e-9) -> float:
    """How large entries of null vectors may be by rounding alone.

    An error of the matrix turns null vectors by at most the error divided by the smallest
    singular value of the others.
    """
    if not rank:
        return 1e-6
    gap = singular_values[rank - 1] / max(float(singular_values[0]), 1.0)
    return float(np.clip(10 * _JACOBIAN_ERROR * rtol / gap, 1e-6, 0.1))


def sparse_basis(vectors: Float[np.ndarray, "k p"], tolerance: float) -> Float[np.ndarray, "k p"]:
    """The reduced row echelon form of independent vectors, with the largest possible pivots.

    If the space is a sum of spaces without common entries, each vector lies in one of these.

    **Arguments:**

    - `vectors`: as rows.
    - `tolerance`: smaller entries become zero; the pivots are 1.

    **Returns:** the basis, ordered by pivots.
    """
    count = len(vectors)
    if not count:
        return vectors.copy()
    triangle, order = _factorise(vectors)
    basis = np.zeros_like(vectors)
    basis[:, order[:count]] = np.eye(count)
    basis[:, order[count:]] = scipy.linalg.solve_triangular(
        triangle[:, :count], triangle[:, count:]
    )
    basis[np.abs(basis) < tolerance] = 0.0
    return basis[np.argsort(order[:count])]


def unscaled(
    basis: Float[np.ndarray, "k p"], scale: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "k p"]:
    """Vectors of scaled unknowns, `scale * u`, as unit vectors of the unknowns `u`."""
    # Scales may span more than all powers of ten: entries must underflow, not overflow.
    smallest = np.where(basis != 0, scale, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    basis = basis * (smallest / scale)
    return basis / np.linalg.norm(basis, axis=1, keepdims=True)


def complement(vectors: Float[np.ndarray, "k p"], tolerance: float) -> Float[np.ndarray, "c p"]:
    """A sparse basis of what is perpendicular to independent vectors, each of unit length."""
    count, size = vectors.shape
    triangle, order = _factorise(vectors)
    basis = np.zeros((size - count, size))
    rest = scipy.linalg.solve_triangular(triangle[:, :count], triangle[:, count:])
    basis[:, order[:count]] = -rest.T
    basis[:, order[count:]] = np.eye(size - count)
    basis /= np.linalg.norm(basis, axis=1, keepdims=True)
    basis[np.abs(basis) < tolerance] = 0.0
    return basis[np.argsort(order[count:])]


def components(
    basis: Float[np.ndarray, "k p"],
) -> list[tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " columns"]]]:
    """Rows that have entries in common, directly or through others, and these entries."""
    left = list(range(len(basis)))
    found = []
    while left:
        rows = [left.pop(0)]
        columns = basis[rows[0]] != 0
        while joined := [row for row in left if np.any(columns & (basis[row] != 0))]:
            rows += joined
            left = [row for row in left if row not in joined]
            columns = columns | np.any(basis[joined] != 0, axis=0)
        found.append((np.sort(np.array(rows)), np.flatnonzero(columns)))
    return found


def _factorise(
    vectors: Float[np.ndarray, "k p"],
) -> tuple[Float[np.ndarray, "k p"], Int[np.ndarray, " p"]]:
    factors: Any = scipy.linalg.qr(vectors, mode="economic", pivoting=True)
    _, triangle, order = factors
    return triangle, order.astype(int)
