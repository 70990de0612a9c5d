"""A motion from its start to its end: checks, the loop over steps, and what is returned."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import ConstraintResiduals, flat_residuals, multipliers as multipliers_at
from .._custom_types import Args, FloatScalar, State
from .._driver import OVER, Problem, Progress, Rows, Tolerances, trajectory
from .._implicit import nan_derivatives, stop_gradient
from .._results import RESULTS
from .._rollout import every, initial_result, Solution, Statistics
from .._system import AbstractConstrainedSystem, FlatSystem, flatten
from ._dense import Recorded
from ._events import Event
from ._flat_events import flat_events, occurrences
from ._integrator import AbstractIntegrator


class Wanted(NamedTuple):
    """What is to be saved, and how far to go; hashable.

    - `save_every`, `dense`, `multipliers`: see [`jaxspark.solve`][].
    - `equal`: whether to make `max_steps` steps of equal size.
    - `max_steps`: the largest number of trials, or `None`.
    - `max_events`: the largest number of events after which the motion goes on.
    - `progress_meter`: or `None`.
    - `consistency_tol`: of the initial values, or `None`.
    """

    save_every: int | None
    equal: bool
    dense: bool
    multipliers: bool
    max_steps: int | None
    max_events: int
    progress_meter: Any
    consistency_tol: float | None


@eqx.filter_jit
def solve_motion(
    system: AbstractConstrainedSystem,
    integrator: AbstractIntegrator,
    y0: State,
    z0: State,
    args: Args,
    times: tuple[FloatScalar, FloatScalar],
    ts: Float[Array, " nts"] | None,
    first_step: FloatScalar,
    tolerances: Tolerances,
    events: tuple[Event, ...],
    wanted: Wanted,
) -> Solution:
    """See [`jaxspark.solve`][].

    **Arguments:**

    - `integrator`: by which steps are made.
    - `first_step`: NaN if it is to be chosen.
    """
    t0, t1 = times
    flat, y, z = flatten(system, t0, y0, z0, args)
    integrator.check(flat)
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t0, y, z)))
    first = initial_result(flat, t0, y, z, initial, wanted.consistency_tol)
    own, size = integrator.prepared(flat), wanted.max_steps
    happens, of_events = None, None
    if events:
        most = wanted.max_events if any(event.reset is not None for event in events) else 0
        happens, of_events = flat_events(events, own, t0, jnp.concatenate([y, z]), args, most)
    problem = Problem(
        t0, t1, jnp.concatenate([y, z]), integrator.parameters(own, tolerances), of_events,
        jnp.zeros(0, t0.dtype) if ts is None else ts, stop_gradient(first_step),
        stop_gradient(tolerances), jnp.asarray(2**30 if size is None else size, jnp.int32),
        first == RESULTS.successful,
    )  # fmt: skip
    end_alone = wanted.save_every is None and not wanted.dense
    end = trajectory(
        integrator.steps(own), happens, problem, size, wanted.equal, wanted.progress_meter,
        end_alone,
    )  # fmt: skip
    dense = None
    if wanted.dense:
        assert end.rows is not None
        dense = Recorded(own, integrator, problem.parameters, end.rows, end.count, t0, end.t)
    result = _result(problem, end, first, ts)
    if not wanted.equal:
        result = integrator.reason(own, end, jnp.sign(t1 - t0), result)
    if flat.redundant:
        result = _uncontradicted(flat, end, wanted.consistency_tol, result)
    return _solution(
        system, integrator, args, flat, problem, end, ts, initial, result, dense, wanted
    )  # fmt: skip


def _uncontradicted(
    flat: FlatSystem, end: Progress, tolerance: float | None, result: RESULTS
) -> RESULTS:
    """Least squares solve contradictory constraints, which then are not satisfied at the end."""
    y, z = end.x[: flat.ny], end.x[flat.ny :]
    residuals = ConstraintResiduals(*stop_gradient(flat_residuals(flat, end.t, y, z)))
    there = initial_result(flat, end.t, y, z, residuals, tolerance)
    violated = there == RESULTS.inconsistent_initial_values
    failed = (result == RESULTS.successful) & violated
    return RESULTS.where(failed, RESULTS.projection_failed, result)


def _result(problem: Problem, end: Progress, first: RESULTS, ts: Any) -> RESULTS:
    arrived = end.t == problem.t1
    if end.events is not None:
        arrived = arrived | (end.events.phase == OVER)
    failed = end.verdict != RESULTS.successful
    result = RESULTS.where(end.stuck, RESULTS.step_size_too_small, RESULTS.max_steps_reached)
    result = RESULTS.where(end.stuck & failed, end.verdict, result)
    result = RESULTS.where(arrived, RESULTS.successful, result)
    if end.events is not None:
        result = RESULTS.where(end.events.phase == OVER, end.events.verdict, result)
    if ts is not None:
        # Only where times are traced: else they were checked before.
        sign = jnp.where(problem.t1 < problem.t0, -1, 1).astype(ts.dtype)
        inside = sign * jnp.concatenate([problem.t0[None], ts, problem.t1[None]])
        lost = (result == RESULTS.successful) & ~jnp.all(jnp.diff(inside) >= 0)
        result = RESULTS.where(lost, RESULTS.time_outside, result)
    finite = jnp.isfinite(problem.t0) & jnp.isfinite(problem.t1)
    result = RESULTS.where(finite, result, RESULTS.nonfinite)
    return RESULTS.where(first == RESULTS.successful, result, first)


def _solution(
    system: AbstractConstrainedSystem,
    integrator: AbstractIntegrator,
    args: Args,
    flat: FlatSystem,
    problem: Problem,
    end: Progress,
    ts: Any,
    initial: ConstraintResiduals,
    result: RESULTS,
    dense: Recorded | None,
    wanted: Wanted,
) -> Solution:
    """The rows that were asked for; where the motion had ended before, they repeat its end."""
    rows, totals = end.rows, end.totals
    if wanted.save_every is not None:
        assert rows is not None
        saved_times, saved, passed = _starts(end, rows)
        saved_times, saved, passed = every(wanted.save_every, (saved_times, saved, passed))
    elif ts is not None:
        assert rows is not None
        passed = jnp.arange(ts.size, dtype=jnp.int32) < end.saved
        saved_times, saved = jnp.where(passed, ts, end.t), rows.saved[:-1]
    else:
        passed = jnp.array([True, False])
        saved_times = jnp.stack([problem.t0, end.t])
        saved = jnp.stack([problem.x0, end.x])
    last = nan_derivatives(end.x, result != RESULTS.successful)
    saved = jnp.where(passed[:, None], saved, last[None, :])
    unravel = lambda x: (flat.unravel_y(x[: flat.ny]), flat.unravel_z(x[flat.ny :]))
    ys, zs = jax.vmap(unravel)(saved)
    y1, z1 = unravel(last)
    reported = None
    if wanted.multipliers:
        solver = integrator.linear_solver
        reported = multipliers_at(system, saved_times, ys, zs, args, linear_solver=solver)
    stats = Statistics(
        totals.accepted, totals.rejected, totals.failed,
        totals.iterations, totals.most, totals.max_g, totals.max_gdot, totals.max_k,
    )  # fmt: skip
    initial = ConstraintResiduals(
        flat.unravel_lam(initial.g), flat.unravel_lam(initial.gdot), flat.unravel_psi(initial.k)
    )
    happened = None if end.events is None else occurrences(end.events, unravel)
    return Solution(
        saved_times, ys, zs, reported, end.t, y1, z1, result,
        stop_gradient(stats), initial, events=happened, interpolation=dense,
    )  # fmt: skip


def _starts(end: Progress, rows: Rows) -> tuple[Array, Array, Array]:
    """Times and states at the starts of all steps, and which rows are such."""
    passed = jnp.arange(rows.h.size, dtype=jnp.int32) < end.count
    times, states = jnp.where(passed, rows.t[:-1], end.t), rows.x[:-1]
    if end.events is None:
        return times, states, passed
    # A jump is no step: of the states at an event that after it is saved.
    passed = passed & (rows.kind >= 0)
    order = jnp.argsort(~passed, stable=True)
    return jnp.where(passed, times, end.t)[order], states[order], passed[order]
