"""What the error of a failed integration says: where, after what, and what to do."""

from .._consistent import ConstraintRank, describe, describe_rank
from .._results import RESULTS
from ._solution import BDFSolution


def message(solution: BDFSolution, rank: ConstraintRank, reason: str) -> str:
    """What happened, where, and the constraint to blame, for concrete values."""
    result, stats = solution.result, solution.stats
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
