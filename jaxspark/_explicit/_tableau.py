"""Explicit Runge-Kutta methods by their coefficients."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


# The errors of all steps add up.
SAFETY = 3.0
# An estimate of the error of a step from the increments of its stages: `(h, x0, x1, K) -> e`.
Estimate = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class ExplicitTableau:
    """The coefficients of an explicit method; NumPy arrays of double precision.

    - `name`: as a user writes it.
    - `order`: of the method.
    - `A`, `b`, `c`: shapes `(s, s)`, strictly lower triangular, `(s,)`, `(s,)`.
    - `estimate`: the estimated error of a step, shape `(n,)`, from `h`, `x0`, `x1` and the
        derivatives of the stages, shape `(s, n)`.
    - `error_order`: the power of `h` in it.
    """

    name: str
    order: int
    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    estimate: Estimate
    error_order: int

    @property
    def stages(self) -> int:
        """`s`."""
        return len(self.b)


def weighted(weights: np.ndarray, K: Float[Array, "s n"]) -> Float[Array, " n"]:
    """The sum of the rows of `K` with these weights."""
    return jnp.sum(jnp.asarray(weights, K.dtype)[:, None] * K, 0)


def embedded(weights: np.ndarray) -> Estimate:
    """Three times the difference of a method and the one embedded in it."""

    def estimate(h: Any, x0: Any, x1: Any, K: Float[Array, "s n"]) -> Float[Array, " n"]:
        del x0, x1
        return SAFETY * h * weighted(weights, K)

    return estimate


@functools.cache
def tableau_of_diffrax(kind: type[diffrax.AbstractERK]) -> ExplicitTableau:
    """The coefficients of an explicit method of diffrax.

    **Raises:** `TypeError` for one without an estimate of its error.
    """
    solver, name = kind(), kind.__name__
    found: Any = solver.tableau
    stages = len(found.b_sol)
    A = np.zeros((stages, stages))
    for i, row in enumerate(found.a_lower, 1):
        A[i, :i] = np.asarray(row)
    c = np.concatenate([[0.0], np.asarray(found.c)])
    order = solver.order(None)
    if order is None or not np.any(np.asarray(found.b_error)):
        raise TypeError(f"{name} has no estimate of its error: take another method.")
    weights = embedded(np.asarray(found.b_error))
    return ExplicitTableau(name, order, A, np.asarray(found.b_sol), c, weights, order)
