"""What the coefficients of a Runge-Kutta method say about a stiff step and its error."""

import functools
from typing import NamedTuple

import numpy as np

from .._tableau import SparkTableau


class GGLCoefficients(NamedTuple):
    """Coefficients of the stage equations, all of them NumPy arrays.

    - `c`: the stages' times, the last of which is 1; shape `(s,)`.
    - `W`: the inverse of the Runge-Kutta matrix; shape `(s, s)`.
    - `gamma`: one over the real eigenvalue of `W`, or over the modulus of the others.
    - `error`: weights of the stages' increments in the estimate of the error; shape `(s,)`.
    """

    c: np.ndarray
    W: np.ndarray
    gamma: float
    error: np.ndarray


@functools.cache
def ggl_coefficients(tableau: SparkTableau) -> GGLCoefficients:
    """The coefficients of a method whose last stage is the end of the step.

    **Raises:** `ValueError` for another one.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.2), and
    (8.17)-(8.20) for the embedded method `b_hat` that has the weight `gamma` at the start.
    """
    A, b, c, s = tableau.A, tableau.b, tableau.c, tableau.stages
    stiffly_accurate = np.allclose(A[-1], b, atol=1e-12) and abs(c[-1] - 1) <= 1e-12
    if not stiffly_accurate or np.linalg.cond(A) > 1e12:
        raise ValueError(
            f"{tableau.name} does not damp what is stiff: its last stage must be the end of the "
            "step and its matrix A regular. Use jaxspark.RadauIIA(2), RadauIIA(3) or "
            'Lobatto(3, "C", "C", "C").'
        )
    W = np.linalg.inv(A)
    eigenvalues = np.linalg.eigvals(W)
    real = eigenvalues[np.abs(np.imag(eigenvalues)) <= 1e-9 * np.abs(eigenvalues)]
    gamma = 1 / float(np.real(real[0]) if real.size else np.abs(eigenvalues[0]))
    powers = np.vander(c, s, increasing=True).T
    moments = 1 / np.arange(1, s + 1) - gamma * (np.arange(s) == 0)
    embedded = np.linalg.solve(powers, moments)
    return GGLCoefficients(c, W, gamma, (embedded - b) @ W)
