"""The Legendre expansion of a step's accelerations, from its stages."""

import functools
import math
from typing import NamedTuple

import numpy as np

from ..._tableau import SparkTableau


# The errors of all the radians of a motion add up: so many of them are allowed for. Symmetric
# methods of these orders err by more of their tolerance where a motion is not smooth, or near an
# encounter. Chosen by `python -m benchmarks figures audit`.
RADIANS, OF_ORDER = 10.0, {4: 40.0, 6: 25.0}


class Expansion(NamedTuple):
    """What the estimate knows of a method.

    - `rows`: shape `(q + 2, s + 2)`. Applied to `z_0, Z_1..Z_s, z_1` they give `h a_0..h a_{q-1}`,
        with the accelerations `sum_k a_k P_k(2x - 1)` at `t_0 + x h`, and `h` times this
        polynomial at the start and at the end.
    - `psi`: shape `(2, s)`; the multipliers of nonholonomic constraints at both ends, from those
        of the stages.
    - `degree`: `q`, the first degree that the stages do not tell.
    - `top`: the highest degree that the estimate uses: `q`, or less for methods of low order.
    - `order`, `constant`: of the method, the latter the first coefficient in which its stability
        function differs from `exp`.
    - `collocates_end`: whether the polynomial has the true accelerations at the end.
    - `radians`: of how many radians of an oscillation the errors are allowed for.
    """

    rows: np.ndarray
    psi: np.ndarray
    degree: int
    top: int
    order: int
    constant: float
    collocates_end: bool
    radians: float


@functools.cache
def expansion(tableau: SparkTableau) -> Expansion:
    r"""The expansion of a method.

    By parts, with the quadrature formula of the method,

        h a_k = (2k + 1) [ z_1 - (-1)^k z_0 - sum_i b_i 2 P_k'(2 c_i - 1) Z_i ].

    For collocation methods these are the coefficients of the derivative of the polynomial through
    `z_0` and the stages, for the quadrature is exact. For the pairs of Lobatto type, whose stages
    are of low order, they are `(2k + 1) sum_j b_j P_k(2 c_j - 1) F_j`, by the simplifying
    assumption D(s).

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.5.
    """
    degree = polynomial_degree(tableau)
    x = 2 * np.asarray(tableau.c) - 1
    rows = np.zeros((degree, tableau.stages + 2))
    for k in range(degree):
        unit = np.polynomial.Legendre.basis(k)
        rows[k, 0], rows[k, -1] = -((-1) ** k), 1.0
        rows[k, 1:-1] = -2 * np.asarray(tableau.b) * unit.deriv()(x)
        rows[k] *= 2 * k + 1
    signs = (-1.0) ** np.arange(degree)
    ends = np.polynomial.legendre.legvander([-1.0, 1.0], tableau.stages - 1) @ np.linalg.pinv(
        np.polynomial.legendre.legvander(x, tableau.stages - 1)
    )
    collocates_end = bool(degree == tableau.stages and tableau.c[-1] == 1)
    return Expansion(
        np.concatenate([rows, (signs @ rows)[None], rows.sum(0)[None]]),
        ends,
        degree,
        min(degree, tableau.order - 1),
        tableau.order,
        error_constant(tableau),
        collocates_end,
        OF_ORDER.get(tableau.order, RADIANS),
    )


def polynomial_degree(tableau: SparkTableau) -> int:
    """How many coefficients of the accelerations the stages tell.

    As many as there are stages inside the step or at one of its ends; of stages at both ends
    (Lobatto) one less, for the end of the step is one of them.
    """
    inner = sum(bool(0 < c < 1) for c in tableau.c)
    return inner if inner == tableau.stages else inner + 1


def error_constant(tableau: SparkTableau) -> float:
    """The first coefficient in which the stability function differs from `exp`.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.3.
    """
    series = tableau.b @ np.linalg.matrix_power(tableau.A, tableau.order)
    return abs(float(np.sum(series)) - 1 / math.factorial(tableau.order + 1))


def double_factorial(k: int) -> int:
    """`(2k - 1)!!`."""
    return math.prod(range(2 * k - 1, 0, -2))
