"""The assumptions that coefficients must satisfy, checked one by one, in words."""

from typing import TYPE_CHECKING

import numpy as np

from ._properties import quadrature_order, ROUNDING


if TYPE_CHECKING:
    from ._spark import SparkTableau


def check_shapes(tableau: "SparkTableau") -> None:
    """Raise `ValueError` if the order is no order, or an array has another shape."""
    t = tableau
    integer = isinstance(t.order, (int, np.integer)) and not isinstance(t.order, bool)
    if not integer or t.order < 1:
        raise ValueError(f"order must be a positive integer; got {t.order!r}.")
    s, n = t.b.size, t.b_tilde.size
    if n not in (s, s + 1):
        raise ValueError(
            f"b_tilde must have s = {s} entries, or one more: as many holonomic "
            f"constraint forces as conditions; got {n}."
        )
    shapes = dict(
        c=(s,), b=(s,), A=(s, s), A_hat=(s, s), b_hat=(s,), c_tilde=(n,), b_tilde=(n,),
        A_bar=(n, s), A_tilde=(s, n), A_psi=(s, s), b_psi=(s,),
    )  # fmt: skip
    for name, shape in shapes.items():
        got = getattr(t, name).shape
        if got != shape:
            raise ValueError(f"{name} must have shape {shape}; got {got}.")


def check_assumptions(tableau: "SparkTableau") -> None:
    """Raise `ValueError` if times, weights or constraint nodes do not belong together."""

    def equal(a, b):
        return np.allclose(a, b, rtol=0, atol=ROUNDING)

    t, s = tableau, tableau.stages
    if np.any(t.b == 0) or len(np.unique(t.c)) < s:
        raise ValueError("A SPARK tableau needs nonzero weights b and distinct c.")
    sums = [np.sum(weights) for weights in (t.b, t.b_hat, t.b_psi, t.b_tilde)]
    assumptions = {
        "sum(b) = sum(b_hat) = sum(b_psi) = sum(b_tilde) = 1": equal(sums, 1),
        "A 1 = c (stages at their times)": equal(np.sum(t.A, 1), t.c),
        "A_bar 1 = c_tilde": equal(np.sum(t.A_bar, 1), t.c_tilde),
        "A_bar[0] = 0 (the first constraint node is the start)": np.all(t.A_bar[0] == 0),
        "A_bar[-1] = b (the last constraint node is the end)": equal(t.A_bar[-1], t.b),
        f"sum(b c^(i-1)) = 1/i up to i = order = {t.order}": (
            quadrature_order(t.b, t.c, t.order) == t.order
        ),
    }
    for words, holds in assumptions.items():
        if not holds:
            raise ValueError(f"This tableau breaks the assumption {words}.")


def check_coupled_conditions(tableau: "SparkTableau") -> None:
    """Raise `ValueError` if two sets of coefficients together have a lower order than claimed.

    The conditions of order 2 and 3 for partitioned methods: `sum_i w_i (X 1)_i = 1/2` and
    `sum_i w_i (X c)_i = 1/6`, for all weights `w` and matrices `X` of the stages; and the same
    for the holonomic constraint forces.

    Source: E. Hairer, C. Lubich & G. Wanner, *Geometric Numerical Integration*, III.2.2.
    """
    t = tableau
    stages = {"b": t.b, "b_hat": t.b_hat, "b_psi": t.b_psi}
    matrices = {"A_hat": t.A_hat, "A_psi": t.A_psi, "A_tilde": t.A_tilde}
    for weight, w in stages.items():
        for name, X in matrices.items():
            nodes = t.c_tilde if name == "A_tilde" else t.c
            for order, words, power, value in ((2, "1", 0, 1 / 2), (3, "c", 1, 1 / 6)):
                if t.order >= order and abs(w @ X @ nodes**power - value) > ROUNDING:
                    raise ValueError(
                        f"This tableau is not of order {t.order}: {weight}^T {name} {words} "
                        f"must be {value:.6g}."
                    )
