"""What can be read off the coefficients of a method."""

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from ._spark import SparkTableau

ROUNDING = 1e-13


def _vanishes(*defects: np.ndarray) -> bool:
    return all(bool(np.max(np.abs(defect), initial=0) <= ROUNDING) for defect in defects)


def is_symmetric(tableau: "SparkTableau") -> bool:
    """The symmetry conditions (6.3), for every set of coefficients.

    `c_{s+1-i} = 1 - c_i`, and `a_{s+1-i,s+1-j} + a_ij = b_j` with `b_{s+1-j} = b_j`.

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, equations (6.3).
    """
    t = tableau
    sets = [(t.A, t.b), (t.A_hat, t.b_hat), (t.A_psi, t.b_psi)]
    sets += [(t.A_bar, t.b), (t.A_tilde, t.b_tilde)]
    defects = [t.c[::-1] + t.c - 1, t.c_tilde[::-1] + t.c_tilde - 1]
    for coefficients, weights in sets:
        defects.append(coefficients[::-1, ::-1] + coefficients - weights[None, :])
        defects.append(weights[::-1] - weights)
    return _vanishes(*defects)


def is_lagrange_dalembert(tableau: "SparkTableau") -> bool:
    """The conditions (6.2), and the same for the holonomic constraint forces.

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, Theorem 6.1.
    """
    t = tableau
    b, b_hat, b_tilde = t.b, t.b_hat, t.b_tilde
    forces = b_hat[:, None] * t.A + (b[:, None] * t.A_hat).T - b_hat[:, None] * b[None, :]
    holonomic = b[:, None] * t.A_tilde + (b_tilde[:, None] * t.A_bar).T - b[:, None] * b_tilde
    return _vanishes(b_hat - b, forces, holonomic)


def quadrature_order(b: np.ndarray, c: np.ndarray, highest: int) -> int:
    """The largest `p <= highest` with `sum_j b_j c_j^{i-1} = 1/i` for `i = 1..p`."""
    for i in range(1, highest + 1):
        if abs(np.sum(b * c ** (i - 1)) - 1 / i) > ROUNDING:
            return i - 1
    return highest


def resonances(A: np.ndarray, A_hat: np.ndarray) -> tuple[float, ...]:
    """The positive `x` at which `I + x^2 A A_hat` is singular, in ascending order.

    With `Y = y0 + h A Z` and `Z = z0 - h omega^2 A_hat Y`, it is the matrix of the stages.
    """
    eigenvalues = np.linalg.eigvals(A @ A_hat)
    real = np.abs(np.imag(eigenvalues)) <= 1e-8 * np.abs(eigenvalues)
    negative = np.real(eigenvalues[real])
    negative = negative[negative < -1e-6]
    return tuple(sorted(float(x) for x in 1 / np.sqrt(-negative)))


def stability_function(A: np.ndarray, b: np.ndarray, x: complex | float) -> complex:
    """`R(x) = 1 + x b^T (I - x A)^{-1} 1`, infinite at a pole.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.3 (3.2).
    """
    try:
        solution = np.linalg.solve(np.eye(b.size) - x * A, np.ones(b.size))
    except np.linalg.LinAlgError:
        return complex("inf")
    return complex(1 + x * (b @ solution))


def stability_at_infinity(A: np.ndarray, b: np.ndarray) -> float:
    """The limit of `R(x)` for large `x`, infinite if the numerator has the larger degree.

    From `R(x) = det(I - x A + x 1 b^T) / det(I - x A)`; the coefficient of `x^k` in
    `det(I - x A)` is that of `x^{s-k}` in the characteristic polynomial of `A`.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.3 (3.3).
    """

    def coefficients(matrix):
        """Of the characteristic polynomial, without rounding errors, lowest first."""
        series = np.poly(matrix).real
        sizes = np.max(np.abs(np.linalg.eigvals(matrix))) ** np.arange(series.size)
        return np.where(np.abs(series) > ROUNDING * sizes, series, 0.0)[::-1]

    for above, below in zip(coefficients(A - b[None, :]), coefficients(A), strict=True):
        if below != 0:
            return float(above / below)
        if above != 0:
            return float("inf")
    raise AssertionError("A characteristic polynomial has the leading coefficient 1.")
