"""Fits from many starts at once."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._compile import compiled
from ._estimate import FitError
from ._failure import check_unknowns, check_whole, why_not
from ._fit import Fit
from ._levenberg import minus_log_likelihood, run
from ._model import Model
from ._noise import initial_noise
from ._problem import make_problem, Problem
from ._proposal import Options
from ._record import Record
from ._spread import at_home, each, mesh_of, own_part
from ._suitable import as_records, needing_inputs


@needing_inputs()
def multistart(
    model: Model,
    records: Record | Sequence[Record],
    *,
    count: int = 16,
    spread: float = 0.5,
    seed: int = 0,
    max_iterations: int = 60,
    devices: Any = None,
) -> tuple[Fit, Float[np.ndarray, " count"]]:
    """Estimate from many starts, all at once, and keep the best.

    **Arguments:**

    - `model`, `records`: as for [`jaxspark.fit.estimate`][].
    - `count`: number of starts, at least 1; the first is that of the specifications.
    - `spread`: standard deviation of the others in the coordinates without bounds: of positive
        parameters in their logarithm, of real ones in multiples of their scale.
    - `seed`: that of the random numbers.
    - `max_iterations`: as for [`jaxspark.fit.estimate`][], for each start; all of them run until
        the last has converged.
    - `devices`: to split the starts over, as for [`jaxspark.fit.estimate`][]; then those on one
        device run until the last of these has.

    **Returns:** the best [`jaxspark.fit.Fit`][], and what each start reached, shape `(count,)`:
    minus the logarithm of the likelihood, up to a constant; infinite if it did not converge.

    **Raises:** `FitError` if the model can be simulated from no start, or no start converges; the
    best that was reached is then its `fit`. Otherwise as [`jaxspark.fit.estimate`][].
    """
    begun = time.perf_counter()
    check_whole("count", count)
    check_whole("max_iterations", max_iterations)
    records = as_records(records)
    known, sigma = initial_noise(model, records)
    problem = make_problem(model, records)
    check_unknowns(problem, known)
    options = Options(jnp.asarray(known), jnp.ones(problem.size, bool))
    moves = spread * np.random.default_rng(seed).standard_normal((count, problem.shared.size))
    moves[0] = 0
    starts = problem.start[None, :] + jnp.pad(
        jnp.asarray(moves), ((0, 0), (0, problem.size - problem.shared.size))
    )
    mesh = mesh_of(devices)
    states = _run(problem, starts, jnp.asarray(sigma), options, max_iterations, mesh)
    states = at_home(states, mesh)
    good = states.found.good
    likelihood = jax.vmap(lambda state: minus_log_likelihood(state, options))(states)
    reached = np.asarray(jnp.where(good, likelihood, jnp.inf))
    if not bool(jnp.any(good)):
        nearer = "a smaller spread or " if count > 1 and spread else ""
        reason = why_not(problem, problem.start, records)
        raise FitError(
            f"None of the {count} starts has a value: choose {nearer}other start values. Of the "
            f"first: {reason}"
        )
    done = np.asarray(states.done)
    likelihood = np.where(done, reached, np.inf)
    best = int(np.argmin(likelihood if done.any() else reached))
    state = jax.tree.map(lambda x: x[best], states)
    history = (float(minus_log_likelihood(state, options)),)
    seconds = time.perf_counter() - begun
    problem = dataclasses.replace(problem, mesh=own_part(mesh))
    fit = Fit(model, tuple(records), problem, options, state, history, seconds)
    if not done.any():
        raise FitError(f"None of the {count} starts converged. The best: {fit.message}", fit)
    return fit, likelihood


@compiled
def _run(problem: Problem, starts: Any, sigma: Any, options: Options, most: int, mesh: Any):
    def one(shared, u):
        problem, sigma, options, most = shared
        return run(problem, u, sigma, options, most)

    return each(one, mesh, (problem, sigma, options, most), starts)
