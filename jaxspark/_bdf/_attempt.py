"""One attempt at a step: predicted, and corrected with a matrix that may be an old one."""

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._system import FlatSystem
from ._coefficients import Coefficients, coefficients, Differences, predict, rescaled
from ._equations import Unknowns
from ._formulations import Matrix, matrix_multipliers, new_matrix, Settings, splits_at
from ._newton import correct, Corrected, RESTART
from ._state import State


# A matrix serves as long as `cj` is within these bounds of that it was made for: DASSL's XRATE.
LEAST_RATIO = (1 - 0.25) / (1 + 0.25)


class Attempt(eqx.Module):
    """An attempt at a step: its coefficients, what it predicts, and what came of it."""

    t: FloatScalar
    h: FloatScalar
    constant_steps: IntScalar
    coefficients: Coefficients
    differences: Differences
    predicted: Unknowns
    corrected: Corrected
    matrix: Matrix
    new: BoolScalar
    weights: Unknowns


def try_step(
    system: FlatSystem,
    settings: Settings,
    state: State,
    t1: FloatScalar,
    rtol: FloatScalar,
    atol: FloatScalar,
) -> Attempt:
    """Predict and correct, with a new matrix where one is due."""
    left = t1 - state.t
    last = jnp.abs(state.h) * (1 + 4 * jnp.finfo(left.dtype).eps) >= jnp.abs(left)
    h = jnp.where(last, left, state.h)
    t = jnp.where(last, t1, state.t + h)
    same = (h == state.old_h) & (state.k == state.old_k)
    constant = jnp.minimum(jnp.where(same, state.constant_steps, 0) + 1, state.old_k + 2)
    found = coefficients(h, state.k, state.psi)
    ratio = found.leading / state.matrix_leading
    new = state.stale | (ratio < LEAST_RATIO) | (ratio > 1 / LEAST_RATIO)
    factor = jnp.where(new | (found.leading != state.leading), RESTART, state.factor)
    differences = rescaled(state.differences, found.beta, state.k, constant)
    predicted, rate = predict(differences, found.gamma, state.k)
    if settings.formulation == "ggl_star":
        predicted = with_multipliers(system, settings, t, predicted, rate)
    operands = (t, predicted, rate, found.leading)
    matrix = jax.lax.cond(
        new, lambda operands: new_matrix(system, settings, *operands), lambda _: state.matrix,
        operands,
    )  # fmt: skip
    weights = atol + rtol * jnp.abs(state.differences[0])
    old_leading = jnp.where(new, found.leading, state.matrix_leading)
    corrected = correct(
        system, settings, t, predicted, rate, found.leading, old_leading, factor, matrix, weights
    )
    return Attempt(
        t, h, constant, found, differences, predicted, corrected, matrix, new, weights
    )  # fmt: skip


def with_multipliers(
    system: FlatSystem, settings: Settings, t: FloatScalar, x: Unknowns, rate: Unknowns
) -> Unknowns:
    """The prediction with multipliers from its own residuals.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, section 5.2.
    """
    found = matrix_multipliers(system, settings, t, x, rate, splits_at(system, t, x))
    return jnp.concatenate([x[: 2 * system.ny], found])
