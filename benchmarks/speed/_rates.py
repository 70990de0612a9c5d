"""What a batch costs: trajectories per CPU second, and the median of their errors."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from .. import peers
from .._figures import at_least, at_most, Figure, note
from .._result import is_ours, Result


ERROR = 1e-8


def errors(end: Any, exact: Any) -> np.ndarray:
    """The greatest relative error of each trajectory."""
    difference = np.abs(np.asarray(end) - np.asarray(exact)) / (1 + np.abs(np.asarray(exact)))
    return np.max(difference, 1)


def in_jax(
    problem: str,
    solver: str,
    setting: str,
    run: Callable[..., Any],
    given: Sequence[Any],
    exact: Any,
) -> Result:
    """A batch by a function that JAX compiles.

    **Arguments:**

    - `run`: returns the ends, a row for each trajectory, or these and residuals.
    - `given`: its arguments.
    - `exact`: the ends.
    """
    compiled = jax.jit(run).lower(*given).compile()
    end, seconds = peers.least_seconds(lambda: jax.block_until_ready(compiled(*given)))
    end, residuals = end if isinstance(end, tuple) else (end, np.nan)
    analysis = compiled.memory_analysis()
    memory = math.nan if analysis is None else float(analysis.temp_size_in_bytes)
    result = of_batch(problem, solver, setting, end, seconds, exact, len(exact))
    extra = result.extra | {"memory": memory}
    return dataclasses.replace(result, residual=float(np.max(residuals)), extra=extra)


def of_batch(
    problem: str, solver: str, setting: str, end: Any, seconds: float, exact: Any, lanes: int
) -> Result:
    """A result of `end` in these CPU seconds, scaled to all lanes where only the first were run."""
    count = len(end)
    error = float(np.median(errors(end, exact[:count])))
    extra = {"rate": count / seconds, "trajectories": float(count)}
    return Result("batch", problem, solver, setting, seconds * lanes / count, error, extra=extra)


def judge(results: Sequence[Result], target: float) -> Iterator[Figure]:
    """The best rate of ours at the error, next to that of each other."""
    what = results[0].problem
    rates: dict[str, float] = {}
    for result in results:
        reached = result.extra["rate"] if result.error <= ERROR else 0.0
        rates[result.solver] = max(rates.get(result.solver, 0.0), reached)
    best = max(rate for solver, rate in rates.items() if is_ours(solver))
    yield at_least(f"{what}: trajectories per CPU s, median error 1e-8", best, target, ".0f")
    worst = max(r.residual for r in results if is_ours(r.solver))
    yield at_most(f"{what}: greatest residual of a constraint", worst, 1e-13)
    for solver, rate in rates.items():
        if not is_ours(solver):
            least = min(r.error for r in results if r.solver == solver)
            words = f"{rate:.0f}; {best / rate:.2f}" if rate else f"not reached, {least:.1e}"
            yield note(f"{what}, {solver}: the same; ours over it", words)
