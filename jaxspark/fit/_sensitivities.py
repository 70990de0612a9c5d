"""What trials show and its exact derivative."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import IntScalar
from ._compile import compiled
from ._predict import predict_trial, Prediction
from ._problem import Problem
from ._spread import each
from ._threads import num_cores, shared_by_cores


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
    - `begun`: the derivative of the flat state at the start; `None` unless it is unknown.
    """

    prediction: Prediction
    jacobian: Float[Array, "*n samples channels q"]
    ends: Float[Array, "*n d q1"] | None
    starts: Float[Array, "*n d q1"] | None
    begun: Float[Array, "*n m q"] | None


def sensitivities(problem: Problem, u: Float[Array, " p"]) -> Sensitivities:
    """Simulate all trials and differentiate them, in one pass.

    **Arguments:**

    - `u`: the unknowns.
    """
    of_trial, operands, columns = _trials(problem, u)
    return each(of_trial, problem.mesh, problem, *operands, columns=columns)


def _trials(problem: Problem, u: Float[Array, " p"]) -> tuple[Any, tuple[Any, ...], int | None]:
    """A trial and its derivative as a function; of all trials what it needs; columns forward."""
    windows, reverse = bool(problem.links), by_reverse(problem)

    def of_trial(problem, x, at, following, data):
        def function(x):
            found = predict_trial(problem, x, at, data, "stages" if reverse else "none")
            start = found.y0, found.z0
            state = ()
            if windows:
                state = following.coordinates(found.y1, found.z1), at.coordinates(*start)
            begun = jnp.concatenate(start) if problem.num_start else None
            return (found.values, state, begun), (state, found)

        derivative = jax.jacrev if reverse else jax.jacfwd
        (shown, ends, begun), (state, found) = derivative(function, has_aux=True)(x)
        moves = [jnp.concatenate([J, s[:, None]], 1) for J, s in zip(ends, state)] or [None, None]
        return Sensitivities(found, shown, moves[0], moves[1], begun)

    following = jax.tree.map(lambda x: jnp.roll(x, -1, 0), problem.tangents)
    operands = u[problem.local()], problem.tangents, following, problem.data
    return of_trial, operands, None if reverse else operands[0].shape[1]


def _some(count: int, first: IntScalar, problem: Problem, u: Float[Array, " p"]) -> Sensitivities:
    """The same of some trials."""
    of_trial, operands, columns = _trials(problem, u)
    part = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, first, count), operands)
    return each(of_trial, None, problem, *part, columns=columns)


_all = compiled(sensitivities)


def simulated(problem: Problem, u: Float[Array, " p"]) -> Sensitivities:
    """The same by the one large program of a fit on one device, which serves its report, too.

    On a CPU its cores share the trials.
    """
    cores = min(num_cores(), problem.num_trials)
    if cores == 1 or problem.mesh is not None or jax.default_backend() != "cpu":
        return _all(problem, u)
    return shared_by_cores(_some, problem.num_trials, cores, problem, u)


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
