"""Levenberg's and Marquardt's iteration on the likelihood of parameters and noise."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from ._evaluate import (
    bending,
    continuity,
    Evaluation,
    residual_loss,
    residual_noise,
    unknown_yet,
    weighted,
)
from ._problem import Problem
from ._proposal import Memory, Options, Proposal, propose
from ._robust import Squares
from ._sensitivities import Sensitivities, sensitivities


# How near the minimum is near enough, in standard errors.
ENOUGH = 1e-5
# Smallest reduction that rounding errors leave, relative to the loss.
ROUNDING = 1e-13
MOST_DAMPING, LEAST_DAMPING = 1e10, 1e-14
# Noise below this share of a channel's variation, or of its rounding errors, is none.
NO_NOISE = 1e-9


class State(eqx.Module):
    """Where the iteration is. Everything that the next iterations depend on.

    - `u`: the unknowns; `found`: the model there.
    - `sigma`: standard deviation of each channel's noise, known or of the residuals at `u`;
        `typical`: how far the channel varies.
    - `memory`: what steps leave to the next; `ahead`: the next one.
    - `growth`: of the damping, after a step that fails; `smooth`: whether the last one was as
        predicted.
    - `iteration`: how many were made; `done`: whether it has converged; `stuck`: whether it
        cannot go on.
    """

    u: Float[Array, " p"]
    found: Evaluation
    sigma: Float[Array, " channels"]
    typical: Float[Array, " channels"]
    memory: Memory
    ahead: Proposal
    growth: FloatScalar
    smooth: BoolScalar
    iteration: IntScalar
    done: BoolScalar
    stuck: BoolScalar

    @property
    def unknown(self) -> BoolScalar:
        """Whether the model has not been evaluated yet."""
        return ~jnp.isfinite(self.found.loss)


def begin(
    problem: Problem, u: Float[Array, " p"], sigma: Float[Array, " channels"], options: Options
) -> State:
    """The state before the first iteration, which only evaluates the model at `u`.

    **Arguments:**

    - `sigma`: standard deviation of each channel's noise; of those where it is not known, how far
        the channel varies.
    """
    one, no, zeros = jnp.ones((), u.dtype), jnp.asarray(False), jnp.zeros_like(u)
    none, count = jnp.zeros((), u.dtype), jnp.zeros((), jnp.int32)
    found = unknown_yet(problem, u.dtype)
    links = jnp.zeros(continuity(problem, found)[1].shape if problem.links else 0, u.dtype)
    memory = Memory(0.1 * one, zeros, zeros, zeros)
    ahead = Proposal(u, zeros, none, none, count, zeros, links, none)
    return State(u, found, sigma, sigma, memory, ahead, 2 * one, ~no, count, no, no)


def advance(problem: Problem, state: State, options: Options) -> State:
    """One iteration: the model after the step that was proposed, and what follows from that."""
    return judge(problem, state, options, sensitivities(problem, state.ahead.u))


def judge(problem: Problem, state: State, options: Options, at_u: Sensitivities) -> State:
    """Accept a step or not, estimate the noise, and propose the next step.

    The noise of a channel is not fixed: at any `u` it is what its residuals say. So the search
    is for the largest likelihood of both, and ends where both are consistent. The weighted sum of
    squares with the noise before the step is above the likelihood, and touches it: what makes one
    less makes the other less. For robust losses, whose estimate of the noise is none of largest
    likelihood, steps are judged by the loss with the noise before them.

    Source: D. W. Marquardt, *An algorithm for least-squares estimation of nonlinear parameters*
    (1963); K. Madsen, H. B. Nielsen & O. Tingleff, *Methods for non-linear least squares problems*
    (2004), section 3.2, for the damping; G. A. F. Seber & C. J. Wild, *Nonlinear Regression*
    (1989), section 2.2.3, for the concentrated likelihood.
    """
    fresh, ahead = state.unknown, state.ahead
    found, sigma = _with_noise(problem, state, options, at_u)
    before, after = (
        _likelihood(at, noise, state.typical, options) + _jumps(problem, at, ahead)
        for at, noise in ((state.found, state.sigma), (found, sigma))
    )
    if not isinstance(problem.model.loss, Squares):
        after = residual_loss(problem, ahead.u, at_u, state.sigma) + _jumps(problem, found, ahead)
        before = state.found.loss + _jumps(problem, state.found, ahead)
    gain = (before - after) / jnp.where(ahead.gain > 0, ahead.gain, 1)
    rounding = ROUNDING * (jnp.abs(before) + jnp.sum(found.counts)) + _floor(problem, state.sigma)
    fell = (gain > 0) | (jnp.abs(before - after) <= rounding)
    accepted = found.good & (fresh | fell)
    made = accepted & ~fresh
    step = jnp.where(made, ahead.step, state.memory.step)
    bend = bending(problem, at_u, found, sigma, state.found, ahead.step)
    bend = jnp.where(made, bend, state.memory.bend)
    damping, growth = _damping(state, gain, accepted)
    u = jnp.where(accepted, ahead.u, state.u)
    kept = _select(accepted, found, state.found)
    sigma = jnp.where(accepted, sigma, state.sigma)
    memory = Memory(damping, ahead.scale, step, bend)
    following = propose(problem, u, kept, options, memory)
    small = _small(problem, kept, sigma, following.decrement)
    at_rounding = ~fresh & (following.gain <= rounding)
    done = kept.good & (small | at_rounding) & _continuous(problem, kept)
    return State(
        u,
        kept,
        sigma,
        state.typical,
        memory,
        following,
        growth,
        accepted & (gain > 0.75),
        state.iteration + 1,
        done,
        ~done & ((fresh & ~found.good) | (damping > MOST_DAMPING)),
    )


def _with_noise(
    problem: Problem, state: State, options: Options, at_u: Sensitivities
) -> tuple[Evaluation, Float[Array, " channels"]]:
    """The model after a step, weighted by the noise that its residuals say."""
    estimate = residual_noise(problem, at_u)
    # A channel without a sample, of a fit without some records, keeps what it had.
    there = jnp.any(problem.data.present, (0, 1))
    estimate = jnp.where(there, estimate, state.sigma)
    least = jnp.maximum(NO_NOISE, 100 * jnp.finfo(estimate.dtype).eps) * state.typical
    sigma = jnp.where(options.known, state.sigma, jnp.maximum(estimate, least))
    sigma = jnp.where(jnp.isfinite(sigma), sigma, state.sigma)
    return weighted(problem, state.ahead.u, sigma, at_u), sigma


def _damping(
    state: State, gain: FloatScalar, accepted: BoolScalar
) -> tuple[FloatScalar, FloatScalar]:
    """The damping of the next step, and how it grows if that fails.

    Nielsen's, and Marquardt's as long as the model is as linear as predicted: in a bent valley
    longer steps than the last good one fail.
    """
    damping, gain = state.memory.damping, jnp.clip(gain, 0, 1)
    bent = jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3)
    shrunk = jnp.where((gain > 0.9) & state.smooth, 0.1, bent) * damping
    changed = jnp.where(accepted, jnp.maximum(shrunk, LEAST_DAMPING), damping * state.growth)
    growth = jnp.where(accepted, 2.0, 2 * state.growth)
    return (
        jnp.where(state.unknown, damping, changed),
        jnp.where(state.unknown, state.growth, growth),
    )


def minus_log_likelihood(state: State, options: Options) -> FloatScalar:
    """Of the parameters, priors included, and of the noise that is estimated; up to a constant.

    Half the weighted sum of squares if all noise is known.
    """
    return _likelihood(state.found, state.sigma, state.typical, options)


def _likelihood(
    found: Evaluation,
    sigma: Float[Array, " channels"],
    typical: Float[Array, " channels"],
    options: Options,
) -> FloatScalar:
    noise = jnp.where(options.known, 0, found.dof * jnp.log(sigma / typical))
    return found.loss + jnp.sum(noise)


def _jumps(problem: Problem, found: Evaluation, ahead: Proposal) -> FloatScalar:
    """What jumps between windows add to the merit function of a step."""
    if not problem.links:
        return jnp.zeros_like(ahead.penalty)
    jumps = continuity(problem, found)[1]
    return ahead.multipliers @ jumps + 0.5 * ahead.penalty * jnp.sum(jumps**2)


def _floor(problem: Problem, sigma: Float[Array, " channels"]) -> FloatScalar:
    """The loss that rounding errors of the simulation leave if a model meets data exactly."""
    relative = 100 * jnp.finfo(sigma.dtype).eps
    # Of data that are all zero the noise is the only size there is.
    size = (problem.data.measured / sigma[None, None, :]) ** 2
    return relative**2 * jnp.sum(jnp.where(problem.data.present, 1 + size, 0))


def _small(
    problem: Problem,
    found: Evaluation,
    sigma: Float[Array, " channels"],
    decrement: FloatScalar,
) -> BoolScalar:
    """Whether the minimum is nearer than the data tell, by a small share of standard errors."""
    data = jnp.sum(found.counts)
    variance = 2 * found.loss / jnp.maximum(data - problem.num_independent, 1)
    return decrement <= jnp.maximum(ENOUGH**2 * variance, _floor(problem, sigma))


def _continuous(problem: Problem, found: Evaluation) -> BoolScalar:
    if not problem.links:
        return jnp.asarray(True)
    jumps = continuity(problem, found)[1]
    return jnp.max(jnp.abs(jumps)) <= jnp.sqrt(jnp.finfo(jumps.dtype).eps) * 0.1


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
