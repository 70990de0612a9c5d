"""The problems as models to fit."""

from typing import Any

import jax.numpy as jnp

import jaxspark
from jaxspark import fit

from ._problem import FitProblem, Trial


def model_of(
    problem: FitProblem,
    *,
    method: jaxspark.methods.AbstractSparkMethod | None = None,
    specs: Any = None,
    noise: Any = None,
    inputs: Any = None,
) -> fit.Model:
    """The model that starts from the guesses of a problem, one step for each interval.

    **Arguments:**

    - `method`: of the steps; default: the problem's.
    - `specs`: in place of those of the problem.
    - `noise`, `inputs`: as for [`jaxspark.fit.Model`][].
    """
    specs = problem.specs() if specs is None else specs
    numbers = fit.parametrise(specs, 1)
    states = [_state(problem, trial, numbers.args(numbers.start)) for trial in problem.trials]
    times = problem.trials[0].times
    start = fit.Start([y for y, _ in states], [z for _, z in states])
    return fit.Model(
        problem.system, problem.observe, specs, start,
        step=float(times[1] - times[0]) / problem.steps, method=method or problem.method,
        noise=noise, inputs=inputs, title=problem.name,
    )  # fmt: skip


def _state(problem: FitProblem, trial: Trial, args: Any) -> tuple[Any, Any]:
    return problem.state(jnp.asarray(trial.guess), problem.with_inputs(trial, args))
