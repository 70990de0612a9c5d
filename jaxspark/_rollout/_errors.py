"""A failed result, turned into an error that names the constraint, the time and the cure."""

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .._consistent import (
    constraint_rank,
    ConstraintRank,
    describe,
    describe_mass,
    describe_rank,
    describe_singular,
    faults,
)
from .._custom_types import Args
from .._implicit import stop_gradient
from .._results import RESULTS
from .._system import AbstractConstrainedSystem
from ._solution import Solution


class SolveError(RuntimeError):
    """The error of a solve that failed. It keeps the `solution` and the `rank`.

    **Arguments:**

    - `message`: what happened, where, and the cure.
    - `solution`: the [`jaxspark.Solution`][], or [`jaxspark.stiff.BDFSolution`][], up to the last
        good state.
    - `rank`: the [`jaxspark.diagnostics.ConstraintRank`][] of the constraints at the last good
        state.
    """

    def __init__(self, message: str, solution: Any, rank: ConstraintRank):
        super().__init__(message)
        self.solution = solution
        self.rank = rank


# What NaN or infinity may end as.
OF_NUMBERS = (
    RESULTS.nonfinite,
    RESULTS.step_size_too_small,
    RESULTS.newton_diverged,
    RESULTS.newton_iteration_limit,
    RESULTS.singular,
)
# What a singular position may end as.
OF_POSITIONS = (
    RESULTS.step_size_too_small,
    RESULTS.newton_diverged,
    RESULTS.newton_iteration_limit,
    RESULTS.singular,
    RESULTS.projection_failed,
    RESULTS.max_steps_reached,
)


def raise_on_failure(
    solution: Any,
    system: AbstractConstrainedSystem,
    args: Args,
    t_end: Any = None,
    t_start: Any = None,
    message: Callable[[Any, ConstraintRank, str], str] | None = None,
) -> Any:
    """The solution, or an error: at once if values are known, at run time if traced.

    **Arguments:**

    - `solution`: of a rollout, or another with a `result`.
    - `system`, `args`: of which it is; at its end constraints are examined, and all functions.
    - `t_end`: up to where it was to go, if that is known.
    - `t_start`: where it began, by default at the first time that is saved.
    - `message`: what the error says, from the solution, the rank of the constraints and the
        reason; by default in the words of a rollout.
    """
    failed = solution.result != RESULTS.successful
    if isinstance(failed, jax.core.Tracer):
        return solution.result.error_if(solution, failed)
    if bool(jnp.all(~failed)):
        return solution
    # Under jax.grad the values are known, but still part of a derivative.
    solution, system, args = stop_gradient((solution, system, args))
    at = solution.t1, solution.y1, solution.z1, args
    rank = stop_gradient(constraint_rank(system, *at))
    reason, values = RESULTS[solution.result], []
    t_end = solution.t1 if t_end is None else stop_gradient(t_end)
    t_start = solution.ts[0] if t_start is None else stop_gradient(t_start)
    if any(bool(solution.result == kind) for kind in OF_NUMBERS):
        values, derivatives = _found(system, *at, t_end)
        reason = " ".join([*(values or [reason]), *derivatives])
    if not values and any(bool(solution.result == kind) for kind in OF_POSITIONS):
        reason = " ".join([*_singular(solution, system, *at, t_end, t_start), reason])
    if bool(solution.result == RESULTS.mass_not_positive):
        reason = " ".join([reason, *_of_mass(system, *at)])
    words = _message if message is None else message
    raise SolveError(words(solution, rank, reason), solution, rank)


# A search for the reason must not hide that there was a failure: hence `except Exception`.


def _found(system: AbstractConstrainedSystem, *where: Any) -> tuple[list[str], list[str]]:
    try:
        return faults(system, *where)
    except Exception:
        return [], []


def _singular(solution: Any, system: AbstractConstrainedSystem, *where: Any) -> list[str]:
    """Whether the constraints become dependent within some steps of where it stopped."""
    try:
        t, y, z, args, t_end, t_start = where
        steps, gone = int(solution.stats.num_steps), float(jnp.abs(solution.t1 - t_start))
        near = (
            5 * gone / steps if steps and gone > 0 else 0.02 * float(jnp.abs(t_end - solution.t1))
        )
        words = describe_singular(system, t, y, z, args, near)
    except Exception:
        return []
    return [] if words is None else [words]


def _of_mass(system: AbstractConstrainedSystem, *where: Any) -> list[str]:
    try:
        return [describe_mass(system, *where)]
    except Exception:
        return []


def _message(solution: Solution, rank: ConstraintRank, reason: str) -> str:
    result, stats = solution.result, solution.stats
    where = f"It stopped at t = {float(solution.t1):.9g} after {int(stats.num_steps)} steps."
    residuals = solution.initial_residuals
    if bool(result == RESULTS.inconsistent_initial_values):
        return f"{reason} {describe(residuals, rank)} {where}"
    if bool(result == RESULTS.singular):
        nothing = "There are no constraints: it is p_z, the mass matrix, that is singular."
        return f"{reason} {where} {describe_rank(rank) if rank.size else nothing}"
    worst = {
        "g": float(stats.max_g), "g_t + g_y v": float(stats.max_gdot),
        "k": float(stats.max_k),
    }  # fmt: skip
    there = {"g": residuals.g, "g_t + g_y v": residuals.gdot, "k": residuals.k}
    worst = {key: value for key, value in worst.items() if _size(there[key])}
    if not worst:
        return f"{reason} {where}"
    name = max(worst, key=lambda key: np.nan_to_num(worst[key], nan=np.inf))
    kept = f"The worst constraint residual until then is {worst[name]:.3e}, of {name}."
    return f"{reason} {where} {kept}"


def _size(residuals: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(residuals))
