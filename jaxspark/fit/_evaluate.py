"""What trials show, its exact derivative, and what least squares needs of both."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from ._compile import compiled
from ._predict import predict_trial, Prediction
from ._problem import Problem
from ._spread import each


# How many columns of a Jacobian, forward, cost as much as a row in reverse.
REVERSE = 4


class Sensitivities(eqx.Module):
    """What a trial shows and its derivative by the unknowns that act on it; with another axis in
    front, of all trials.

    - `prediction`: of the channels, and how the simulation went.
    - `jacobian`: of the channels at the samples.
    - `ends`, `starts`: of each trial its state at the end, in the tangent coordinates of the next
        one's start, and that at its start in its own, with derivatives as last columns;
        `None` unless trials are windows of one motion.
    """

    prediction: Prediction
    jacobian: Float[Array, "*n samples channels q"]
    ends: Float[Array, "*n d q1"] | None
    starts: Float[Array, "*n d q1"] | None


class Evaluation(eqx.Module):
    """A model at given unknowns.

    - `loss`: half the sum of all weighted squares, priors included.
    - `factors`: of each trial the triangular factor of `[Jacobian, residual]`, by the unknowns
        that act on it; weighted.
    - `prior`: the same of the priors, by the parameters.
    - `squares`, `counts`: of each channel the weighted sum of squares in its unit, and the number
        of samples; `scale`: the standard deviation of its noise, from these residuals.
    - `ends`, `starts`: as of the [`Sensitivities`][].
    - `good`: whether all trials could be simulated.
    - `worst`: the worst residual of all constraints.
    """

    loss: FloatScalar
    factors: Float[Array, "trials q1 q1"]
    prior: Float[Array, "p1 p1"]
    squares: Float[Array, " channels"]
    counts: Float[Array, " channels"]
    scale: Float[Array, " channels"]
    ends: Float[Array, "trials d q1"] | None
    starts: Float[Array, "trials d q1"] | None
    good: BoolScalar
    worst: FloatScalar


def sensitivities(problem: Problem, u: Float[Array, " p"]) -> Sensitivities:
    """Simulate all trials and differentiate them, in one pass.

    **Arguments:**

    - `u`: the unknowns.
    """
    windows, reverse = bool(problem.links), by_reverse(problem)

    def of_trial(problem, x, at, following, data):
        def function(x):
            found = predict_trial(problem, x, at, data, "stages" if reverse else "none")
            state = ()
            if windows:
                where = (found.y1, found.z1), (found.y0, found.z0)
                state = following.coordinates(*where[0]), at.coordinates(*where[1])
            return (found.values, state), (state, found)

        derivative = jax.jacrev if reverse else jax.jacfwd
        jacobian, (state, found) = derivative(function, has_aux=True)(x)
        moves = [jnp.concatenate([J, s[:, None]], 1) for J, s in zip(jacobian[1], state)]
        return Sensitivities(found, jacobian[0], *(moves or (None, None)))

    following = jax.tree.map(lambda x: jnp.roll(x, -1, 0), problem.tangents)
    operands = u[problem.local()], problem.tangents, following, problem.data
    return each(of_trial, problem.mesh, problem, *operands)


simulated = compiled(sensitivities)
"""The one large program of a fit on one device, which serves its report, too."""


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
        difference = jnp.where(data.present, values - data.measured, 0)
        slopes = jnp.where(data.present[..., None], jacobian, 0)
        squares = (difference / sigma[None, :]) ** 2
        by_channel = loss.weight(squares)
        cost = jnp.sum(jnp.where(data.present, loss.rho(squares), 0))
        root = jnp.sqrt(by_channel) / sigma[None, :]
        rows = jnp.concatenate([slopes, difference[..., None]], 2) * root[..., None]
        factor = triangle(rows.reshape(-1, rows.shape[2]))
        return cost, factor, jnp.sum(by_channel * difference**2, 0), difference

    found, loss = at_u.prediction, problem.model.loss
    operands = found.values, at_u.jacobian, problem.data
    cost, factors, squares, difference = each(of_trial, problem.mesh, (loss, sigma), *operands)
    prior = problem.shared.prior_residuals(u[: problem.shared.size])
    by_prior = jax.jacfwd(problem.shared.prior_residuals)(u[: problem.shared.size])
    total = 0.5 * (jnp.sum(cost) + jnp.sum(prior**2))
    present = problem.data.present.reshape(-1, squares.shape[1])
    counts = jnp.sum(present, 0).astype(squares.dtype)
    # The unknowns take their share of the degrees of freedom from all channels alike.
    share = jnp.maximum(1 - problem.num_independent / jnp.sum(counts), 1 / jnp.sum(counts))
    good = jnp.all(found.good) & jnp.isfinite(total) & jnp.all(jnp.isfinite(factors))
    return Evaluation(
        jnp.where(good, total, jnp.inf),
        factors,
        triangle(jnp.concatenate([by_prior, prior[:, None]], 1)),
        jnp.sum(squares, 0),
        counts,
        loss.scale(difference.reshape(present.shape), present, share),
        at_u.ends,
        at_u.starts,
        good,
        jnp.max(found.residual),
    )


def by_reverse(problem: Problem) -> bool:
    """Whether Jacobians are found row by row, in reverse, and not column by column.

    By counts: a row costs a reverse pass, with the steps of the simulation once more, and a
    column about half of that or less, all of them at once. Reverse pays if the unknowns of a
    trial are more than `REVERSE` times its samples, as those of a network may be.
    """
    rows = problem.data.present.shape[1] * problem.data.present.shape[2]
    if problem.links:
        rows += 2 * problem.num_start
    return problem.local().shape[1] > REVERSE * rows


def unknown_yet(problem: Problem, dtype: Any) -> Evaluation:
    """What stands for an evaluation before the first."""
    (n, q), p, d = problem.local().shape, problem.shared.size, problem.num_start
    channels = jnp.zeros(len(problem.channels), dtype)
    moves = jnp.zeros((n, d, q + 1), dtype) if problem.links else None
    return Evaluation(
        jnp.full((), jnp.inf, dtype),
        jnp.zeros((n, q + 1, q + 1), dtype),
        jnp.zeros((p + 1, p + 1), dtype),
        channels,
        channels,
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
