"""Fits of what a record has of its own, with all else held."""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._compile import compiled
from ._levenberg import run, State
from ._model import Model
from ._problem import make_problem, Problem
from ._proposal import Options
from ._record import Record


# Few unknowns, and a guess that is not far off.
MOST = 30


def own_fitted(
    model: Model,
    record: Record,
    noise: Float[Array, " channels"],
    shared: Float[Array, " q"] | None = None,
) -> tuple[Problem, Float[Array, " p"]]:
    """A record as a problem, and its unknowns, of which those that are its own are fitted.

    Of several guesses of the start that counts which leads to the smallest loss.

    **Arguments:**

    - `noise`: standard deviations of the channels.
    - `shared`: what the parameters are that all records share; then the start and the record's
        own parameters are fitted. By default the start alone, with the model's start values.
    """
    tried = []
    for start in model.start.alone():
        problem = make_problem(dataclasses.replace(model, start=start), [record])
        u, held = problem.start, problem.shared.size
        if shared is not None:
            held = problem.shared.num_shared
            u = u.at[:held].set(shared)
        tried.append((problem, fitted_from(problem, u, noise, held, MOST)))
    problem, state = min(tried, key=lambda found: float(found[1].found.loss))
    return problem, state.u


def fitted_from(problem: Problem, u: Any, noise: Any, held: int, most: int) -> State:
    """The end of an iteration that changes all unknowns but the first `held`."""
    free = jnp.arange(problem.size) >= held
    options = Options(jnp.ones(len(problem.channels), bool), free)
    return _run(problem, u, noise, options, jnp.asarray(most))


@compiled
def _run(problem: Problem, u: Any, noise: Any, options: Options, most: Any) -> State:
    return run(problem, u, noise, options, most)
