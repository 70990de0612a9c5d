"""Splines of degree five with equal intervals, for motions that are twice differentiated.

Source: C. de Boor, *A Practical Guide to Splines*, chapters 9 and 10.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.interpolate
from jaxtyping import Float, Int


DEGREE = 5
LOCAL = DEGREE + 1


def _pieces() -> np.ndarray:
    """Powers, highest first, of each of the local splines in one interval, `(LOCAL, LOCAL)`."""
    element = scipy.interpolate.BSpline.basis_element(np.arange(LOCAL + 1.0))
    powers = scipy.interpolate.PPoly.from_spline(element).c[:, DEGREE : DEGREE + LOCAL]
    # Of the spline that begins j intervals before the last of those that act, the piece j.
    return powers[:, ::-1]


PIECES = _pieces()


class Basis(NamedTuple):
    """Local splines at times.

    - `first`: the first of the `LOCAL` coefficients that act at each time.
    - `values`: values, first and second derivatives of these, shape `(3, times, LOCAL)`.
    - `count`: how many coefficients there are.
    """

    first: Int[np.ndarray, " times"]
    values: Float[np.ndarray, "3 times k"]
    count: int


def basis(times: Float[np.ndarray, " times"], intervals: int) -> Basis:
    """Of so many equal intervals from the first time to the last."""
    h = (times[-1] - times[0]) / intervals
    place = (times - times[0]) / h
    first = np.clip(np.floor(place).astype(int), 0, intervals - 1)
    u = place - first
    parts = []
    for order in range(3):
        parts.append(_powers(u, order) @ PIECES / h**order)
    return Basis(first, np.stack(parts), intervals + DEGREE)


def _powers(u: np.ndarray, order: int) -> np.ndarray:
    """Derivatives of the powers of `u`, highest first."""
    columns = []
    for power in range(DEGREE, -1, -1):
        factor = float(np.prod([power - k for k in range(order)])) if order else 1.0
        columns.append(factor * u ** max(power - order, 0))
    return np.stack(columns, 1)


def fitted(of: Basis, samples: Float[np.ndarray, "times n"]) -> Float[np.ndarray, "count n"]:
    """Coefficients by least squares; samples that are NaN are left out."""
    there = np.all(np.isfinite(samples), axis=1)
    rows = np.flatnonzero(there)
    B = _banded(of, rows)
    right = np.zeros((of.count, samples.shape[1]))
    for k in range(LOCAL):
        np.add.at(right, of.first[rows] + k, of.values[0][rows, k, None] * samples[rows])
    found: Any = scipy.linalg.solveh_banded(B, right, lower=True)
    return found


def _banded(of: Basis, rows: np.ndarray) -> np.ndarray:
    """The normal matrix, its lower band; with what holds coefficients that no sample tells."""
    band = np.zeros((LOCAL, of.count))
    for j in range(LOCAL):
        for k in range(j + 1):
            products = of.values[0][rows, j] * of.values[0][rows, k]
            np.add.at(band[j - k], of.first[rows] + k, products)
    band[0] += 1e-12 * np.max(band[0])
    return band


def evaluated(
    of: Basis, coefficients: Float[np.ndarray, "count n"]
) -> Float[np.ndarray, "3 times n"]:
    """Values, first and second derivatives at the times."""
    local = coefficients[of.first[:, None] + np.arange(LOCAL)]
    return np.einsum("dtk,tkn->dtn", of.values, local)


def best_intervals(
    times: Float[np.ndarray, " times"], samples: Float[np.ndarray, "times n"]
) -> int:
    """As many intervals as predict samples best, by generalised cross-validation.

    Source: P. Craven & G. Wahba, *Smoothing noisy data with spline functions*, Numerische
    Mathematik 31 (1979).
    """
    n = len(times)
    most = max(int(n / 2.5) - DEGREE, 1)
    counts = np.unique(np.round(np.geomspace(min(4, most), most, 24)).astype(int))
    scores = []
    for count in counts:
        of = basis(times, int(count))
        left = samples - evaluated(of, fitted(of, samples))[0]
        squares = np.nansum(left**2, axis=0) / n
        freedom = 1 - of.count / n
        scores.append(
            np.sum(np.log(np.maximum(squares, 1e-300))) - 2 * len(squares) * np.log(freedom)
        )
    return int(counts[int(np.argmin(scores))])
