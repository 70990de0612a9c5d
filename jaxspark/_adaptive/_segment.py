"""The motion from one event to the next: one call of diffrax."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import Args, FloatScalar, IntScalar, State
from .._results import RESULTS
from ._base import AbstractConstrainedSolver, Costs, SolverState
from ._counting import Counting
from ._events import diffrax_event, Event
from ._interpolation import Frozen, ShorterStep
from ._locate import locate
from ._term import ConstrainedTerm, point


class Options(eqx.Module):
    """Everything about a solve but the problem itself.

    - `save`: `"ends"`, `"ts"` or `"steps"`, of which every so many count: `save_every`.
    """

    solver: AbstractConstrainedSolver
    controller: diffrax.AbstractStepSizeController
    events: tuple[Event, ...]
    adjoint: diffrax.AbstractAdjoint
    progress_meter: diffrax.AbstractProgressMeter
    save: str = eqx.field(static=True)
    save_every: int = eqx.field(static=True)
    dense: bool = eqx.field(static=True)
    multipliers: bool = eqx.field(static=True)
    max_steps: int | None = eqx.field(static=True)
    max_events: int = eqx.field(static=True)
    consistency_tol: float | None = eqx.field(static=True)


class Segment(eqx.Module):
    """What came of it.

    - `t`, `y`, `z`: where it ended.
    - `ts`, `rows`: the saved times, infinite where there is none, and states `(y, z)`.
    - `occurred`: for each event, whether it ended the segment.
    - `changes`: how much conditions changed in the last step, where they changed sign.
    - `result`, `accepted`, `rejected`, `failed`, `costs`: how it went; failed steps are among the
        rejected ones.
    - `interpolation`: of diffrax, or `None`.
    """

    t: FloatScalar
    y: State
    z: State
    ts: Float[Array, " n"]
    rows: tuple[State, State]
    occurred: Bool[Array, " events"]
    changes: Float[Array, " events"]
    result: RESULTS
    accepted: IntScalar
    rejected: IntScalar
    failed: IntScalar
    costs: Costs
    interpolation: Any


def run_segment(
    term: ConstrainedTerm,
    t0: FloatScalar,
    t1: FloatScalar,
    y: State,
    z: State,
    args: Args,
    ts: Float[Array, " n"] | None,
    h0: FloatScalar | None,
    offsets: Float[Array, " events"],
    options: Options,
) -> Segment:
    """From `t0` to `t1` or the first event.

    Rows at times `ts` before `t0` are computed at `t0`, to be thrown away.
    """
    forward = jnp.where(t0 < t1, 1, -1)
    subs: dict[str, Any] = dict(end=diffrax.SubSaveAt(t1=True))
    if options.save == "ts":
        assert ts is not None
        inside = jnp.clip(ts, jnp.minimum(t0, t1), jnp.maximum(t0, t1))
        subs["rows"] = diffrax.SubSaveAt(ts=inside)
    elif options.save == "steps":
        subs["rows"] = diffrax.SubSaveAt(t0=True, steps=1)
    # diffrax must know that one; none of its steps is rejected.
    counts = not isinstance(options.controller, diffrax.StepTo)
    controller = Counting(options.controller) if counts else options.controller
    solution = diffrax.diffeqsolve(
        term, options.solver, t0, t1, h0, (y, z), args,
        saveat=diffrax.SaveAt(
            subs=subs, dense=options.dense, solver_state=True, controller_state=True
        ),
        stepsize_controller=controller,
        adjoint=options.adjoint,
        event=diffrax_event(options.events, forward, offsets),
        max_steps=options.max_steps,
        throw=False,
        progress_meter=options.progress_meter,
    )  # fmt: skip
    times, states = solution.ts, solution.ys
    assert isinstance(times, dict) and isinstance(states, dict)
    end = jax.tree.map(lambda x: x[-1], (times["end"], states["end"]))
    nothing = jax.tree.map(lambda x: x[:0], (times["end"], states["end"]))
    t, state = end
    result, occurred = own_result(solution.result), jnp.zeros(0, bool)
    changes = offsets
    if options.events:
        last = _last_step(term, y, z, solution.solver_state, args, options)
        event = locate(options.events, last, state, args, offsets)
        happened = solution.result == diffrax.RESULTS.event_occurred
        occurred, changes = event.occurred & happened, event.changes
        t, state = jax.tree.map(
            lambda a, b: jnp.where(happened, a, b), (event.t, (event.y, event.z)), (t, state)
        )
        lost = happened & ~(event.found & jnp.any(occurred))
        result = RESULTS.where(lost, RESULTS.event_not_located, result)
    saved = times.get("rows", nothing[0]), states.get("rows", nothing[1])
    # What diffrax saved of the last step beyond the event did not happen.
    real = jnp.isfinite(saved[0]) & (saved[0] * forward <= t * forward)
    names = ("num_accepted_steps", "num_rejected_steps")
    accepted, rejected = (jnp.asarray(solution.stats[name], jnp.int32) for name in names)
    controller_state: Any = solution.controller_state
    failed = controller_state[1] if counts else jnp.zeros((), jnp.int32)
    costs = _costs(solution.solver_state)
    return Segment(
        t, state[0], state[1], jnp.where(real, saved[0], jnp.inf), saved[1], occurred, changes,
        result, accepted, rejected, failed, costs, solution.interpolation,
    )  # fmt: skip


def _last_step(
    term: ConstrainedTerm, y: State, z: State, last: Any, args: Args, options: Options
) -> ShorterStep:
    """The last step of a solve, by which one inside it starts."""
    assert isinstance(last, SolverState)
    flat = point(term.system, last.t, y, z, args).flat()[0]
    problem = (term.system, args, options.solver)
    zero, one = jnp.zeros_like(last.t), jnp.ones_like(last.t)
    return ShorterStep(
        zero, one, last.t, last.h, flat.unravel_y(last.y), flat.unravel_z(last.z),
        last.stages, Frozen.of(problem),
    )  # fmt: skip


def _costs(state: Any) -> Costs:
    assert isinstance(state, SolverState)
    return state.costs


def own_result(result: diffrax.RESULTS) -> RESULTS:
    """A result of diffrax in our words; an event is a success."""
    theirs: Any = diffrax.RESULTS
    pairs = [
        (theirs.event_occurred, RESULTS.successful),
        (theirs.max_steps_reached, RESULTS.max_steps_reached),
        (theirs.dt_min_reached, RESULTS.step_size_too_small),
        (theirs.nonlinear_divergence, RESULTS.newton_diverged),
        (theirs.nonlinear_max_steps_reached, RESULTS.newton_iteration_limit),
        (theirs.singular, RESULTS.singular),
        (theirs.nonfinite, RESULTS.nonfinite),
    ]
    out = RESULTS.where(
        result == theirs.successful, RESULTS.successful, RESULTS.step_size_too_small
    )
    for their, ours in pairs:
        out = RESULTS.where(result == their, ours, out)
    return out
