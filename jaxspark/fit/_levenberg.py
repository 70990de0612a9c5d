"""Levenberg's and Marquardt's iteration, with continuity of windows as constraints."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from ._evaluate import (
    assembled,
    continuity,
    Evaluation,
    Sensitivities,
    sensitivities,
    unknown_yet,
    weighted,
)
from ._problem import Problem


# A step in multiples of standard errors that is not worth another iteration.
ENOUGH = 1e-4
# Smallest reduction that rounding errors leave, relative to the loss.
ROUNDING = 1e-13
MOST_DAMPING = 1e10
# Columns of the Jacobian shorter than this share of the longest count as so long.
FAINT = 1e-5
# Of the usual weight of a start: the least of one that no sample depends on.
UNOBSERVED = 0.1
# Longest step of a parameter in its coordinate, for instance its logarithm.
LONGEST = 3.0
# Noise that changes by less than this is not estimated again.
NOISE_SETTLED = 1e-2


class State(eqx.Module):
    """Where the iteration is. Everything that the next iterations depend on.

    - `u`: the unknowns; `found`: the model there.
    - `sigma`: standard deviation of each channel; `rounds`: how often it was estimated.
    - `damping`, `growth`, `scale`: of steps: `|A d + b|^2 + damping |scale d|^2`.
    - `price`: of jumps between windows, in the merit function.
    - `iteration`: how many were made; `done`: whether it has converged; `stuck`: whether it
        cannot go on.
    """

    u: Float[Array, " p"]
    found: Evaluation
    sigma: Float[Array, " channels"]
    rounds: IntScalar
    damping: FloatScalar
    growth: FloatScalar
    scale: Float[Array, " p"]
    price: FloatScalar
    iteration: IntScalar
    done: BoolScalar
    stuck: BoolScalar


class Options(eqx.Module):
    """What is fixed in a fit.

    - `known`: which channels' noise is known.
    - `free`: which unknowns are changed.
    """

    known: Bool[Array, " channels"]
    free: Bool[Array, " p"]


def begin(
    problem: Problem, u: Float[Array, " p"], sigma: Float[Array, " channels"], options: Options
) -> State:
    """The state before the first iteration, which only evaluates the model at `u`."""
    nothing = unknown_yet(problem, u.dtype)
    zero = jnp.zeros((), jnp.int32)
    one = jnp.ones((), u.dtype)
    no = jnp.asarray(False)
    return State(u, nothing, sigma, zero, 0.1 * one, 2 * one, jnp.zeros_like(u), one, zero, no, no)


def advance(problem: Problem, state: State, options: Options) -> State:
    """One iteration: a step, the model after it, and what follows from that.

    Source: D. W. Marquardt, *An algorithm for least-squares estimation of nonlinear parameters*
    (1963), for damping that changes tenfold, and K. Madsen, H. B. Nielsen & O. Tingleff, *Methods
    for non-linear least squares problems* (2004), section 3.2, for how it grows; J. J. More, *The
    Levenberg-Marquardt algorithm: implementation and theory* (1978), for the scaling. For windows
    H. G. Bock, *Recent advances in parameter identification techniques for O.D.E.* (1983), with
    the l1 merit function, J. Nocedal & S. Wright, *Numerical Optimization* (2006), section 18.3.
    """
    proposal = propose(problem, state, options)
    return judge(problem, state, options, proposal, sensitivities(problem, proposal.u))


class Proposal(NamedTuple):
    """Where to evaluate the model next, and what that should bring.

    - `u`: the unknowns.
    - `gain`: of the merit function; `less`: by how much the loss alone should change.
    - `scale`: of the unknowns; `price`: the multipliers of continuity, the greatest.
    """

    u: Float[Array, " p"]
    gain: FloatScalar
    less: FloatScalar
    scale: Float[Array, " p"]
    price: FloatScalar


def _unknown(state: State) -> BoolScalar:
    """Whether the model is only to be evaluated where it is."""
    return ~jnp.isfinite(state.found.loss)


def propose(problem: Problem, state: State, options: Options) -> Proposal:
    """The damped step of Gauss and Newton, with continuity of windows as a constraint."""
    found, fresh = _step(problem, state, options), _unknown(state)
    step, needed = (jnp.where(fresh, 0, x) for x in (found.step, found.price))
    scale = jnp.where(fresh, state.scale, found.scale)
    return Proposal(state.u + step, found.gain, found.less, scale, needed)


def judge(
    problem: Problem,
    state: State,
    options: Options,
    proposal: Proposal,
    at_u: Sensitivities,
) -> State:
    """Accept a step or not, and what follows from that."""
    fresh, predicted, u = _unknown(state), proposal.gain, proposal.u
    found = weighted(problem, u, state.sigma, at_u)
    price = jnp.maximum(state.price, 2 * proposal.price)
    before, after = (_merit(problem, x, price) for x in (state.found, found))
    gain = (before - after) / jnp.where(predicted > 0, predicted, 1)
    floor = _floor(problem, state.sigma)
    rounding = ROUNDING * jnp.abs(before) + floor
    accepted = found.good & (fresh | (gain > 0) | (jnp.abs(before - after) <= rounding))
    # In curved valleys a gain of two thirds is good enough for longer steps.
    shrunk = state.damping * jnp.where(gain > 0.5, 0.1, jnp.where(gain > 0.25, 0.5, 1.0))
    damping = jnp.where(accepted, shrunk, state.damping * state.growth)
    damping = jnp.where(fresh, state.damping, jnp.maximum(damping, 1e-14))
    growth = jnp.where(accepted, 2.0, 2 * state.growth)
    kept = _select(accepted, found, state.found)
    small = (
        _small(problem, kept, proposal.less, floor) & ~fresh & (accepted | (predicted <= rounding))
    )
    settled = small & _continuous(problem, kept)
    sigma, changed = _noise(kept, state, options)
    again = settled & changed
    # Other weights: the model must be evaluated with them.
    kept = eqx.tree_at(lambda x: x.loss, kept, jnp.where(again, jnp.inf, kept.loss))
    failed = fresh & ~found.good
    return State(
        jnp.where(accepted, u, state.u),
        kept,
        jnp.where(again, sigma, state.sigma),
        state.rounds + again.astype(state.rounds.dtype),
        damping,
        jnp.where(fresh, state.growth, growth),
        proposal.scale,
        price,
        state.iteration + 1,
        settled & ~changed,
        failed | (damping > MOST_DAMPING),
    )


class _Step(NamedTuple):
    """A step, and what it should bring; fields as of [`Proposal`][]."""

    step: Float[Array, " p"]
    gain: FloatScalar
    less: FloatScalar
    scale: Float[Array, " p"]
    price: FloatScalar


def _step(problem: Problem, state: State, options: Options) -> _Step:
    A, b = assembled(problem, state.found)
    A = jnp.where(options.free[None, :], A, 0)
    lengths = jnp.sqrt(jnp.sum(A**2, 0))
    scale = jnp.maximum(state.scale, lengths)
    # What has next to no effect, as a saturated unit of a network, must not go anywhere.
    floor = FAINT * jnp.max(scale)
    weights = jnp.where(scale > floor, scale, jnp.where(floor > 0, floor, 1))
    if problem.links:
        weights = _unobserved(problem, weights)
    # In coordinates in which the damping is a multiple of the unit matrix.
    scaled = A / weights[None, :]
    if not problem.links:
        damped = jnp.concatenate([scaled, jnp.sqrt(state.damping) * jnp.eye(len(weights))])
        w = -_least_squares(damped, jnp.pad(b, (0, len(weights))))
        w = w * _share(problem, w / weights)
        predicted = _gain(scaled @ w, b)
        step = jnp.where(options.free, w / weights, 0)
        return _Step(step, predicted, predicted, scale, jnp.zeros_like(state.price))
    C, c = continuity(problem, state.found)
    C = jnp.where(options.free[None, :], C, 0) / weights[None, :]
    Q, R = jnp.linalg.qr(C.T, mode="complete")
    count = C.shape[0]
    range_, null = Q[:, :count], Q[:, count:]
    # C = R^T Q^T: the damped step towards continuity, in the range of C^T.
    triangle = R[:count].T
    square = triangle @ triangle.T
    damping = state.damping * jnp.trace(square) / count
    first = -range_ @ (triangle.T @ jnp.linalg.solve(square + damping * jnp.eye(count), c))
    reduced, rest = scaled @ null, scaled @ first + b
    damped = jnp.concatenate([reduced, jnp.sqrt(state.damping) * jnp.eye(null.shape[1])])
    w = first - null @ _least_squares(damped, jnp.pad(rest, (0, null.shape[1])))
    w = w * _share(problem, w / weights)
    gradient = scaled.T @ (scaled @ w + b)
    multiplier = jax.scipy.linalg.solve_triangular(R[:count], range_.T @ gradient)
    needed = jnp.max(jnp.abs(multiplier))
    price = jnp.maximum(state.price, 2 * needed)
    closer = jnp.sum(jnp.abs(c)) - jnp.sum(jnp.abs(C @ w + c))
    less = _gain(scaled @ w, b)
    step = jnp.where(options.free, w / weights, 0)
    return _Step(step, less + price * closer, jnp.abs(less), scale, needed)


def _unobserved(problem: Problem, weights: Float[Array, " p"]) -> Float[Array, " p"]:
    """Weights of starts, those of windows without samples not far below those of the others.

    Otherwise a step towards continuity would move little else than these windows.
    """
    starts = problem.local()[:, -problem.num_start :]
    typical = jnp.sqrt(jnp.mean(weights[starts] ** 2, 0))
    return weights.at[starts].max(jnp.broadcast_to(UNOBSERVED * typical, starts.shape))


def _share(problem: Problem, step: Float[Array, " p"]) -> FloatScalar:
    """How much of a step is sensible for the parameters, whose coordinates are of order one."""
    longest = jnp.max(jnp.abs(step[: problem.shared.size]), initial=0)
    return jnp.minimum(1, LONGEST / jnp.maximum(longest, LONGEST))


def _gain(move: Float[Array, " m"], b: Float[Array, " m"]) -> FloatScalar:
    """How much less half the sum of squares becomes, without cancellation."""
    return -jnp.sum(move * (b + 0.5 * move))


def _least_squares(A: Float[Array, "m n"], b: Float[Array, " m"]) -> Float[Array, " n"]:
    Q, R = jnp.linalg.qr(A)
    return jax.scipy.linalg.solve_triangular(R, Q.T @ b)


def _merit(problem: Problem, found: Evaluation, price: FloatScalar) -> FloatScalar:
    if not problem.links:
        return found.loss
    return found.loss + price * jnp.sum(jnp.abs(continuity(problem, found)[1]))


def _floor(problem: Problem, sigma: Float[Array, " channels"]) -> FloatScalar:
    """The loss that rounding errors of the simulation leave if a model meets data exactly."""
    relative = 100 * jnp.finfo(sigma.dtype).eps
    # Of data that are all zero the noise is the only size there is.
    size = (problem.data.measured / sigma[None, None, :]) ** 2
    return relative**2 * jnp.sum(jnp.where(problem.data.present, 1 + size, 0))


def _small(
    problem: Problem, found: Evaluation, predicted: FloatScalar, floor: FloatScalar
) -> BoolScalar:
    """Whether a step changes the unknowns by little of their standard errors."""
    data = jnp.sum(found.counts)
    variance = 2 * found.loss / jnp.maximum(data - problem.num_independent, 1)
    return 2 * predicted <= jnp.maximum(ENOUGH**2 * variance, floor)


def _continuous(problem: Problem, found: Evaluation) -> BoolScalar:
    if not problem.links:
        return jnp.asarray(True)
    jumps = continuity(problem, found)[1]
    return jnp.max(jnp.abs(jumps)) <= jnp.sqrt(jnp.finfo(jumps.dtype).eps) * 0.1


def _noise(found: Evaluation, state: State, options: Options):
    """The standard deviation of each channel, and whether that is news."""
    # Of a channel that is met exactly there is no noise to estimate.
    estimate = jnp.where(found.scale > 1e-9 * state.sigma, found.scale, state.sigma)
    sigma = jnp.where(options.known, state.sigma, estimate)
    return sigma, jnp.max(jnp.abs(jnp.log(sigma / state.sigma))) > NOISE_SETTLED


def _select(chosen: BoolScalar, a: Any, b: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), a, b)


def run(
    problem: Problem,
    u: Float[Array, " p"],
    sigma: Float[Array, " channels"],
    options: Options,
    max_iterations: int | Int[Array, ""] = 100,
) -> State:
    """Iterate until it converges: one compiled loop, for batches."""

    def going(state):
        return ~state.done & ~state.stuck & (state.iteration < max_iterations)

    def body(state):
        return advance(problem, state, options)

    return jax.lax.while_loop(going, body, begin(problem, u, sigma, options))
