"""What follows from an attempt: a step, or another order, size or matrix for the next."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._consistent import flat_residuals
from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS
from .._rollout import largest
from .._system import FlatSystem
from ._attempt import Attempt
from ._coefficients import advanced
from ._control import after_rejection, after_success, assess, Plan, Verdict
from ._equations import parts, residuals
from ._formulations import error_mask, projection_splits, Settings
from ._newton import Corrected, rms
from ._rows import Rows
from ._solution import BDFStatistics
from ._state import State


# DASSL's limit on failures of Newton's method in one step.
MAX_NEWTON_FAILURES = 10


def judge(
    system: FlatSystem, settings: Settings, state: State, attempt: Attempt, t1: FloatScalar
) -> State:
    """The state after an attempt: a step, or another order, size or matrix for the next."""
    corrected, new = attempt.corrected, attempt.new
    mask = error_mask(system, settings, attempt.matrix.splits)
    verdict = assess(
        attempt.coefficients, attempt.differences, corrected.change, state.k, attempt.weights, mask
    )
    converged = corrected.converged & jnp.isfinite(verdict.size)
    accepted, rejected = converged & verdict.accepted, converged & ~verdict.accepted
    failed = ~converged & new
    next_step = _plan(settings, state, attempt, verdict, mask, accepted, rejected, failed)
    errors = state.error_failures + rejected.astype(jnp.int32)
    failures = state.newton_failures + failed.astype(jnp.int32)
    flag, ahead, order = state.refreshed
    refreshed = (
        flag | new, jnp.where(new, attempt.h, ahead), jnp.where(new, state.k, order)
    )  # fmt: skip
    ready = eqx.tree_at(
        lambda state: (
            state.k, state.h, state.settled, state.leading, state.matrix_leading, state.factor,
            state.stale, state.matrix, state.refreshed, state.error_failures,
            state.newton_failures, state.stats, state.result,
        ),
        state,
        (
            next_step.k, next_step.h, next_step.settled, attempt.coefficients.leading,
            jnp.where(new, attempt.coefficients.leading, state.matrix_leading),
            corrected.factor, ~converged & ~new, attempt.matrix, refreshed, errors, failures,
            counted(state.stats, corrected, new, rejected, failed),
            _result(state, next_step.h, t1, failures, accepted),
        ),
    )  # fmt: skip
    stepped, row = accept(system, settings, ready, attempt, state.k)
    # Only where it is accepted there is a row to write: a copy of all rows would take longer.
    index = jnp.where(accepted, stepped.stats.num_steps, settings.max_steps + 1)
    rows = jax.tree.map(lambda rows, one: rows.at[index].set(one, mode="drop"), state.rows, row)
    rest = jax.tree.map(lambda a, b: jnp.where(accepted, a, b), _bare(stepped), _bare(ready))
    return eqx.tree_at(lambda state: state.rows, rest, rows, is_leaf=lambda x: x is None)


def _bare(state: State) -> State:
    return eqx.tree_at(lambda state: state.rows, state, None)


def _plan(
    settings: Settings,
    state: State,
    attempt: Attempt,
    verdict: Verdict,
    mask: Bool[Array, " unknowns"],
    accepted: BoolScalar,
    rejected: BoolScalar,
    failed: BoolScalar,
) -> Plan:
    above = attempt.differences[jnp.minimum(state.k + 1, settings.max_order)]
    raised = rms(attempt.corrected.change - above, attempt.weights, mask)
    good = after_success(
        verdict, raised, state.k, attempt.h, state.old_k, attempt.constant_steps,
        state.settled, settings.max_order,
    )  # fmt: skip
    bad = after_rejection(verdict, state.k, attempt.h, state.error_failures + 1)
    other = Plan(state.k, jnp.where(failed, attempt.h / 4, state.h), state.settled | failed)
    plan = jax.tree.map(lambda a, b: jnp.where(rejected, a, b), bad, other)
    return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), good, plan)


def _result(
    state: State, h: FloatScalar, t1: FloatScalar, failures: IntScalar, accepted: BoolScalar
) -> RESULTS:
    """Whether another attempt can be made."""
    eps = jnp.finfo(h.dtype).eps
    shortest = 4 * eps * jnp.maximum(jnp.abs(state.t), jnp.abs(t1))
    short = ~accepted & (jnp.abs(h) < shortest)
    result = RESULTS.where(short, RESULTS.step_size_too_small, state.result)
    hopeless = failures >= MAX_NEWTON_FAILURES
    return RESULTS.where(hopeless, RESULTS.newton_diverged, result)


def counted(
    stats: BDFStatistics,
    corrected: Corrected,
    new: BoolScalar,
    rejected: BoolScalar,
    failed: BoolScalar,
) -> BDFStatistics:
    """The statistics with those of an attempt added."""
    return eqx.tree_at(
        lambda stats: (
            stats.residual_evaluations, stats.matrix_evaluations, stats.error_test_failures,
            stats.convergence_failures,
        ),
        stats,
        (
            stats.residual_evaluations + corrected.evaluations,
            stats.matrix_evaluations + new.astype(jnp.int32),
            stats.error_test_failures + rejected.astype(jnp.int32),
            stats.convergence_failures + failed.astype(jnp.int32),
        ),
    )  # fmt: skip


def accept(
    system: FlatSystem, settings: Settings, state: State, attempt: Attempt, k: IntScalar
) -> tuple[State, Rows]:
    """The state with the attempt as its last step, and the row to keep of it."""
    found, t = attempt.corrected, attempt.t
    x = found.x
    if not settings.with_multipliers:
        there = projection_splits(system, settings, t, x, attempt.predicted, attempt.matrix)
        multipliers = there.multipliers(residuals(system, t, x, found.rate))
        x = jnp.concatenate([x[: 2 * system.ny], multipliers])
    stats, n = state.stats, state.stats.num_steps + 1
    row = Rows(x, t, attempt.h, k, *state.refreshed)
    worst = [largest(part) for part in flat_residuals(system, t, *parts(system, x)[:2])]
    before = stats.max_g, stats.max_gdot, stats.max_k
    stats = eqx.tree_at(
        lambda stats: (stats.num_steps, stats.max_g, stats.max_gdot, stats.max_k),
        stats,
        (n, *map(jnp.maximum, before, worst)),
    )
    zero, no = jnp.zeros((), jnp.int32), jnp.asarray(False)
    stepped = eqx.tree_at(
        lambda state: (
            state.t, state.differences, state.psi, state.old_k, state.old_h,
            state.constant_steps, state.error_failures, state.newton_failures, state.refreshed,
            state.stats,
        ),
        state,
        (
            t, advanced(attempt.differences, found.change, k), attempt.coefficients.psi, k,
            attempt.h, attempt.constant_steps, zero, zero, (no, *state.refreshed[1:]), stats,
        ),
    )  # fmt: skip
    return stepped, row
