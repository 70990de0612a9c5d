"""What least squares needs of what trials show and of its derivative."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from ._compile import compiled
from ._problem import Data, Problem
from ._sensitivities import Sensitivities
from ._spread import each


class Evaluation(eqx.Module):
    """A model at given unknowns.

    - `loss`: half the sum of all weighted squares, priors included.
    - `factors`: of each trial the triangular factor of `[Jacobian, residual]`, by the unknowns
        that act on it; weighted.
    - `prior`: the same of the priors, by the parameters.
    - `pulls`: of each trial and channel the gradient of its part of the loss, by the unknowns that
        act on the trial.
    - `difference`: of each sample from what was measured, in the unit of its channel.
    - `squares`, `counts`: of each channel the weighted sum of squares in its unit, and the number
        of samples; `dof`: what the unknowns leave of these; `scale`: the standard deviation of its
        noise, from these residuals.
    - `ends`, `starts`: as of the [`Sensitivities`][].
    - `good`: whether all trials could be simulated.
    - `worst`: the worst residual of all constraints.
    """

    loss: FloatScalar
    factors: Float[Array, "trials q1 q1"]
    prior: Float[Array, "p1 p1"]
    pulls: Float[Array, "trials channels q"]
    difference: Float[Array, "trials samples channels"]
    squares: Float[Array, " channels"]
    counts: Float[Array, " channels"]
    dof: Float[Array, " channels"]
    scale: Float[Array, " channels"]
    ends: Float[Array, "trials d q1"] | None
    starts: Float[Array, "trials d q1"] | None
    good: BoolScalar
    worst: FloatScalar


def weighted(
    problem: Problem,
    u: Float[Array, " p"],
    sigma: Float[Array, " channels"],
    at_u: Sensitivities,
) -> Evaluation:
    """What least squares needs of a model at given unknowns.

    **Arguments:**

    - `u`: the unknowns; `sigma`: standard deviation of each channel, in its unit.
    - `at_u`: what the trials show there.
    """

    def of_trial(shared, values, jacobian, data):
        loss, sigma = shared
        difference = _difference(values, data)
        slopes = jnp.where(data.present[..., None], jacobian, 0)
        squares = (difference / sigma[None, :]) ** 2
        by_channel = loss.weight(squares)
        cost = jnp.sum(jnp.where(data.present, loss.rho(squares), 0))
        root = jnp.sqrt(by_channel) / sigma[None, :]
        rows = jnp.concatenate([slopes, difference[..., None]], 2) * root[..., None]
        factor = triangle(rows.reshape(-1, rows.shape[2]))
        pulls = jnp.sum(slopes * (root**2 * difference)[..., None], 0)
        return cost, factor, pulls, jnp.sum(by_channel * difference**2, 0), difference

    found, loss = at_u.prediction, problem.model.loss
    operands = found.values, at_u.jacobian, problem.data
    cost, factors, pulls, squares, difference = each(
        of_trial, problem.mesh, (loss, sigma), *operands
    )
    prior = problem.shared.prior_residuals(u[: problem.shared.size])
    by_prior = jax.jacfwd(problem.shared.prior_residuals)(u[: problem.shared.size])
    total = 0.5 * (jnp.sum(cost) + jnp.sum(prior**2))
    counts, share = _degrees_of_freedom(problem, squares.dtype)
    good = jnp.all(found.good) & jnp.isfinite(total) & jnp.all(jnp.isfinite(factors))
    return Evaluation(
        jnp.where(good, total, jnp.inf),
        factors,
        triangle(jnp.concatenate([by_prior, prior[:, None]], 1)),
        pulls,
        difference,
        jnp.sum(squares, 0),
        counts,
        jnp.maximum(counts * share, 1),
        residual_noise(problem, at_u),
        at_u.ends,
        at_u.starts,
        good,
        jnp.max(found.residual),
    )


def _difference(
    values: Float[Array, "*n samples channels"], data: Data
) -> Float[Array, "*n samples channels"]:
    """Of what was measured, zero where nothing was."""
    return jnp.where(data.present, values - data.measured, 0)


def _degrees_of_freedom(
    problem: Problem, dtype: Any
) -> tuple[Float[Array, " channels"], FloatScalar]:
    """The samples of each channel, and what the unknowns leave of them: of all alike."""
    present = problem.data.present
    counts = jnp.sum(present, (0, 1)).astype(dtype)
    total = jnp.sum(counts)
    return counts, jnp.maximum(1 - problem.num_independent / total, 1 / total)


def residual_noise(problem: Problem, at_u: Sensitivities) -> Float[Array, " channels"]:
    """The standard deviation of each channel's noise, from the residuals of all trials."""
    difference = _difference(at_u.prediction.values, problem.data)
    present = problem.data.present.reshape(-1, difference.shape[-1])
    _, share = _degrees_of_freedom(problem, difference.dtype)
    return problem.model.loss.scale(difference.reshape(present.shape), present, share)


def residual_loss(
    problem: Problem,
    u: Float[Array, " p"],
    at_u: Sensitivities,
    sigma: Float[Array, " channels"],
) -> FloatScalar:
    """The loss alone; arguments as for [`weighted`][]."""
    difference = _difference(at_u.prediction.values, problem.data)
    cost = problem.model.loss.rho((difference / sigma[None, None, :]) ** 2)
    prior = problem.shared.prior_residuals(u[: problem.shared.size])
    return 0.5 * (jnp.sum(jnp.where(problem.data.present, cost, 0)) + jnp.sum(prior**2))


def bending(
    problem: Problem,
    at_u: Sensitivities,
    found: Evaluation,
    sigma: Float[Array, " channels"],
    before: Evaluation,
    step: Float[Array, " p"],
) -> Float[Array, " p"]:
    """How residuals bend along a step: `J^T r''`, with their second derivative along it.

    From the residuals at both ends and the derivative at the last: `r'' = 2 (r0 - r1 + J d)`.

    **Arguments:**

    - `at_u`, `found`: after the step; `before`: in front of it.
    - `sigma`: standard deviations of the channels.
    """
    if problem.links:
        return jnp.zeros_like(step)

    def of_trial(shared, jacobian, data, after, before, step):
        loss, sigma = shared
        slopes = jnp.where(data.present[..., None], jacobian, 0)
        second = 2 * (before - after + slopes @ step)
        weights = loss.weight((after / sigma[None, :]) ** 2) / sigma[None, :] ** 2
        return jnp.sum(slopes * (weights * second)[..., None], (0, 1))

    local = problem.local()
    ends = found.difference, before.difference
    operands = at_u.jacobian, problem.data, *ends, step[local]
    slopes = each(of_trial, problem.mesh, (problem.model.loss, sigma), *operands)
    return jnp.zeros_like(step).at[local].add(slopes)


def unknown_yet(problem: Problem, dtype: Any) -> Evaluation:
    """What stands for an evaluation before the first."""
    (n, q), p, d = problem.local().shape, problem.shared.size, problem.num_start
    channels = jnp.zeros(len(problem.channels), dtype)
    moves = jnp.zeros((n, d, q + 1), dtype) if problem.links else None
    return Evaluation(
        jnp.full((), jnp.inf, dtype),
        jnp.zeros((n, q + 1, q + 1), dtype),
        jnp.zeros((p + 1, p + 1), dtype),
        jnp.zeros((n, channels.size, q), dtype),
        jnp.zeros(problem.data.present.shape, dtype),
        channels,
        channels,
        jnp.ones_like(channels),
        channels,
        moves,
        moves,
        jnp.asarray(False),
        jnp.zeros((), dtype),
    )


def triangle(rows: Float[Array, "n q"]) -> Float[Array, "q q"]:
    """The triangular factor `R` with `R^T R = rows^T rows`."""
    n, q = rows.shape
    if n < q:
        rows = jnp.concatenate([rows, jnp.zeros((q - n, q), rows.dtype)])
    return jnp.linalg.qr(rows, mode="r")


def assembled(
    problem: Problem, found: Evaluation
) -> tuple[Float[Array, "m p"], Float[Array, " m"]]:
    """All rows of the least-squares problem, compressed: `A` and `b` of `|A d + b|`."""
    index, size = problem.local(), problem.size
    n, q = index.shape
    trials = jnp.arange(n)[:, None, None]
    rows = jnp.arange(q + 1)[None, :, None]
    A = jnp.zeros((n, q + 1, size), found.factors.dtype)
    A = A.at[trials, rows, index[:, None, :]].set(found.factors[..., :-1])
    prior = jnp.pad(found.prior[:, :-1], ((0, 0), (0, size - problem.shared.size)))
    A = jnp.concatenate([A.reshape(-1, size), prior])
    return A, jnp.concatenate([found.factors[..., -1].reshape(-1), found.prior[:, -1]])


def by_channel(problem: Problem, found: Evaluation) -> Float[Array, "channels p"]:
    """The gradient of each channel's part of the loss by all unknowns."""
    total = jnp.zeros((found.pulls.shape[1], problem.size), found.pulls.dtype)
    for_all = jnp.moveaxis(found.pulls, 1, 0)
    return total.at[:, problem.local()].add(for_all)


def continuity(
    problem: Problem, found: Evaluation
) -> tuple[Float[Array, "c p"], Float[Array, " c"]]:
    """The jumps from each window to the next, and their derivative."""
    assert found.ends is not None and found.starts is not None
    index, size = problem.local(), problem.size
    before = np.asarray(problem.links)
    n, d = before.size, found.ends.shape[1]
    trials, rows = jnp.arange(n)[:, None, None], jnp.arange(d)[None, :, None]
    C = jnp.zeros((n, d, size), found.ends.dtype)
    C = C.at[trials, rows, index[before][:, None, :]].add(found.ends[before, :, :-1])
    C = C.at[trials, rows, index[before + 1][:, None, :]].add(-found.starts[before + 1, :, :-1])
    jumps = found.ends[before, :, -1] - found.starts[before + 1, :, -1]
    return C.reshape(n * d, size), jumps.reshape(-1)


# As programs of their own: one after the other, their operations would be many small ones.
weighted_alone, assembled_alone = compiled(weighted), compiled(assembled)
