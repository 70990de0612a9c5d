"""The fixed-leading-coefficient BDF of DASSL: its coefficients, predictor and differences."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar, IntScalar


MAX_ORDER = 5

# Formulas of order k use the columns 0 .. k of the differences, the next one is kept for k + 1.
Columns = Float[Array, " columns"]
Differences = Float[Array, "columns unknowns"]


class Coefficients(eqx.Module):
    """The coefficients of one step, indices as in DASSL but from 0.

    - `psi`: `t_n - t_{n-1-i}`.
    - `beta`: by which differences are multiplied for a new step size.
    - `gamma`: of the derivative of the predictor.
    - `sigma`: of the error estimates at the orders up to the present one.
    - `leading`: `cj`, by which the derivative grows with the unknowns.
    - `error`: `ck`, that of the local error.

    Source: K. E. Brenan, S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value
    Problems in Differential-Algebraic Equations*, 5.2.1 and 5.2.3; subroutine DDASTP.
    """

    psi: Columns
    beta: Columns
    gamma: Columns
    sigma: Columns
    leading: FloatScalar
    error: FloatScalar


def coefficients(h: FloatScalar, k: IntScalar, psi: Columns) -> Coefficients:
    """Those of a step of size `h` and order `k`, after steps with the spans `psi`."""
    one = jnp.ones_like(h)
    alpha, beta, gamma, sigma, spans = [one], [one], [0 * one], [one], [h]
    for i in range(1, psi.shape[0]):
        span = psi[i - 1] + h
        beta.append(beta[-1] * spans[-1] / psi[i - 1])
        alpha.append(h / span)
        sigma.append(i * sigma[-1] * alpha[-1])
        gamma.append(gamma[-1] + alpha[-2] / h)
        spans.append(span)
    alphas = jnp.stack(alpha)
    used = jnp.arange(psi.shape[0], dtype=k.dtype) < k
    alpha_0 = -jnp.sum(jnp.where(used, alphas, 0))
    harmonic = 1 / jnp.arange(1, psi.shape[0] + 1, dtype=h.dtype)
    alpha_s = -jnp.sum(jnp.where(used, harmonic, 0))
    error = jnp.maximum(alphas[k], jnp.abs(alphas[k] + alpha_s - alpha_0))
    return Coefficients(
        psi=jnp.stack(spans), beta=jnp.stack(beta), gamma=jnp.stack(gamma), sigma=jnp.stack(sigma),
        leading=-alpha_s / h, error=error,
    )  # fmt: skip


def rescaled(
    differences: Differences, beta: Columns, k: IntScalar, constant_steps: IntScalar
) -> Differences:
    """The modified divided differences, for the new step size: `phi* = beta phi`."""
    column = jnp.arange(beta.shape[0], dtype=k.dtype)
    moved = (column >= constant_steps) & (column <= k)
    return jnp.where(moved, beta, 1)[:, None] * differences


def predict(differences: Differences, gamma: Columns, k: IntScalar) -> tuple[Array, Array]:
    """The polynomial through the last `k + 1` values, and its derivative, at the new time."""
    used = jnp.arange(gamma.shape[0], dtype=k.dtype) <= k
    value = jnp.sum(jnp.where(used[:, None], differences, 0), 0)
    slope = jnp.sum(jnp.where(used[:, None], gamma[:, None] * differences, 0), 0)
    return value, slope


def advanced(differences: Differences, change: Array, k: IntScalar) -> Differences:
    """The differences after a step, whose end is the prediction plus `change`."""
    rows, above = [], jnp.zeros_like(change)
    for j in reversed(range(differences.shape[0])):
        above = jnp.where(j <= k, differences[j] + jnp.where(j == k, change, above), differences[j])
        above = jnp.where(j == k + 1, change, above)
        rows.append(above)
    return jnp.stack(rows[::-1])
