"""A failed integration, turned into an error that says where, after what, and what to do."""

from collections.abc import Callable

import jax
import jax.core
import jax.numpy as jnp

from .._consistent import ConstraintRank, describe, describe_rank
from .._implicit import stop_gradient
from .._results import RESULTS
from .._rollout import SolveError
from ._solution import BDFSolution


def raise_on_failure(
    solution: BDFSolution, rank: Callable[[BDFSolution], ConstraintRank]
) -> BDFSolution:
    """The solution, or an error: at once if values are known, at run time if traced.

    **Arguments:**

    - `solution`: of an integration.
    - `rank`: computes the rank of the constraints at its end, which an error reports.
    """
    failed = solution.result != RESULTS.successful
    if isinstance(failed, jax.core.Tracer):
        return solution.result.error_if(solution, failed)
    if bool(jnp.all(~failed)):
        return solution
    # Under jax.grad the values are known, but still part of a derivative.
    solution = stop_gradient(solution)
    there = stop_gradient(rank(solution))
    raise SolveError(_message(solution, there), solution, there)


def _message(solution: BDFSolution, rank: ConstraintRank) -> str:
    result, stats = solution.result, solution.stats
    reason = RESULTS[result]
    where = (
        f"It stopped at t = {float(solution.t1):.9g} after {int(stats.num_steps)} steps, "
        f"{int(stats.error_test_failures)} failures of the error test and "
        f"{int(stats.convergence_failures)} of Newton's method."
    )
    if bool(result == RESULTS.inconsistent_initial_values):
        return f"{reason} {describe(solution.initial_residuals, rank)} {where}"
    if bool(result == RESULTS.singular):
        return f"{reason} {where} {describe_rank(rank)}"
    return f"{reason} {where}"
