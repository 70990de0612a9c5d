"""DASSL's choice of order and step size."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from ._coefficients import Coefficients, Differences
from ._equations import Unknowns
from ._newton import rms


class Verdict(eqx.Module):
    """What the error estimates say about a step of order `k`.

    - `size`: the norm of the difference to the prediction.
    - `accepted`: whether the local error passes the test.
    - `lower`: whether the order should be lowered.
    - `estimate`: `est`, the error at the order so chosen.
    - `here`, `below`: `terk`, `terkm1`, scaled estimates at the orders `k` and `k - 1`.
    """

    size: FloatScalar
    accepted: BoolScalar
    lower: BoolScalar
    estimate: FloatScalar
    below_estimate: FloatScalar
    here: FloatScalar
    below: FloatScalar


class Plan(eqx.Module):
    """Order and size of the next step, and whether the start-up phase is over."""

    k: IntScalar
    h: FloatScalar
    settled: BoolScalar


def assess(
    coefficients: Coefficients,
    differences: Differences,
    change: Unknowns,
    k: IntScalar,
    weights: Unknowns,
    mask: Bool[Array, " unknowns"],
) -> Verdict:
    """Test the error, and estimate it at the orders `k`, `k - 1` and `k - 2`.

    Source: K. E. Brenan, S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value
    Problems in Differential-Algebraic Equations*, 5.2.4; subroutine DDASTP, block 4.
    """
    order, sigma = k.astype(change.dtype), coefficients.sigma
    size = rms(change, weights, mask)
    estimate = sigma[k] * size
    here = (order + 1) * estimate
    first = differences[k] + change
    second = differences[jnp.maximum(k - 1, 0)] + first
    below_estimate = sigma[jnp.maximum(k - 1, 0)] * rms(first, weights, mask)
    below = order * below_estimate
    two_below = (order - 1) * sigma[jnp.maximum(k - 2, 0)] * rms(second, weights, mask)
    lower_of_two = below <= here / 2
    lower_of_many = jnp.maximum(below, two_below) <= here
    lower = (k > 1) & jnp.where(k == 2, lower_of_two, lower_of_many)
    accepted = coefficients.error * size <= 1
    chosen = jnp.where(lower, below_estimate, estimate)
    return Verdict(size, accepted, lower, chosen, below_estimate, here, below)


def after_success(
    verdict: Verdict,
    raised: FloatScalar,
    k: IntScalar,
    h: FloatScalar,
    old_order: IntScalar,
    constant_steps: IntScalar,
    settled: BoolScalar,
    max_order: int,
) -> Plan:
    """The plan for the step after one that was accepted.

    **Arguments:**

    - `raised`: the norm of the difference of order `k + 2`.

    Source: as for `assess`, block 5.
    """
    settled = settled | verdict.lower | (k == max_order)
    order = k.astype(h.dtype)
    above = raised  # (k + 2) / (k + 2), with the constant of the estimate.
    may_raise = (k < max_order) & (k + 1 < constant_steps) & (k - old_order != 1) & ~verdict.lower
    smaller_below = verdict.below <= jnp.minimum(verdict.here, above)
    lower = verdict.lower | (may_raise & (k > 1) & smaller_below)
    better_above = jnp.where(k > 1, above < verdict.here, above < verdict.here / 2)
    raise_order = may_raise & ~lower & better_above
    chosen = jnp.where(raise_order, raised / (order + 2), verdict.estimate)
    chosen = jnp.where(lower, verdict.below_estimate, chosen)
    next_k = k + jnp.where(raise_order, 1, 0) - jnp.where(lower, 1, 0)
    power = -1 / (next_k + 1).astype(h.dtype)
    r = (2 * chosen + 1e-4) ** power
    shrunk = jnp.where(r <= 1, jnp.clip(r, 0.5, 0.9), 1)
    factor = jnp.where(r >= 2, 2, shrunk)
    next_k = jnp.where(settled, next_k, k + 1)
    return Plan(next_k, h * jnp.where(settled, factor, 2), settled)


def after_rejection(verdict: Verdict, k: IntScalar, h: FloatScalar, failures: IntScalar) -> Plan:
    """The plan after the error test failed, `failures` times in this step.

    Source: as for `assess`, block 6.
    """
    lowered = k - jnp.where(verdict.lower, 1, 0)
    power = -1 / (lowered + 1).astype(h.dtype)
    factor = jnp.clip(0.9 * (2 * verdict.estimate + 1e-4) ** power, 0.25, 0.9)
    again = failures > 1
    return Plan(
        jnp.where(failures > 2, 1, lowered),
        h * jnp.where(again, 0.25, factor),
        jnp.asarray(True),
    )
