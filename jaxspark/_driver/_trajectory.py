"""A recorded motion as a differentiable function of where it starts and of what moves it."""

from typing import Any

import jax
import jax.numpy as jnp

from .._jax_internals import LinearMap, ruled
from ._locate import AbstractEvents
from ._record import record
from ._repeated import Recorded, RepeatedSweeps
from ._rows import Problem, Progress
from ._steps import AbstractRepeatable, AbstractSteps
from ._sweeps import each_lane, Given, Sweeps, Unknowns


def trajectory(
    steps: tuple[AbstractSteps, AbstractSteps],
    events: AbstractEvents | None,
    problem: Problem,
    size: int | None,
    equal: bool = False,
    meter: Any = None,
    end_alone: bool = False,
) -> Progress:
    """The motion, differentiable with respect to all of the problem but its tolerances.

    **Arguments:**

    - `steps`: the method, and the same by operations that JAX can differentiate.
    - `events`: what may happen between steps.
    - `problem`: what is to be solved.
    - `size`: how many steps there is room for; without room there are no derivatives.
    - `equal`: whether to make `size` steps of equal size.
    - `meter`: of the progress, as diffrax has them.
    - `end_alone`: whether of the rows nothing is wanted.
    """
    method = steps[0]
    plain = events is None and not equal and not problem.ts.size
    if end_alone and plain and size is not None and LinearMap.usable():
        if isinstance(method, AbstractRepeatable):
            return _end_alone((method, steps[1]), problem, size, meter)
    sweeps = Sweeps(*steps, events, equal)

    def run(problem: Problem) -> Progress:
        return record(steps[0], events, problem, size, equal, meter)

    def tangent(problem: Problem, change: Any, now: Progress) -> Any:
        if size is None:
            raise ValueError("Derivatives need room for the steps: give max_steps.")
        return _tangents(sweeps, problem, change, now)

    return ruled(run, tangent, problem, lanes=each_lane)


def _end_alone(
    steps: tuple[AbstractRepeatable, AbstractSteps], problem: Problem, size: int, meter: Any
) -> Progress:
    """The same, with few rows."""

    def run(problem: Problem) -> Progress:
        return record(steps[0], None, problem, size, False, meter, few=True)

    def again(recorded: Recorded, lin: Unknowns) -> Unknowns:
        problem = recorded.problem
        now = trajectory(steps, None, problem, size)
        sweeps = Sweeps(*steps, None, False)
        given = Given(problem.parameters, None, now.rows, problem.ts, now.count, now.saved)
        found = sweeps.map(given, lin._replace(**_still(now.rows)))
        return lin._replace(final=found.final)

    sweeps = RepeatedSweeps(steps[0], again)

    def tangent(problem: Problem, change: Any, now: Progress) -> Any:
        lin = _right_hand_sides(problem, change)
        given = Recorded(problem, now.rows, now.count, now.t == problem.t1)
        final = sweeps.map(given, lin).final
        return jax.tree.map(lambda _: None, now)._replace(t=final[0], x=final[1])

    return ruled(run, tangent, problem, lanes=each_lane)


def _still(rows: Any) -> dict[str, Any]:
    """No right-hand sides of the rows."""
    return {name: jnp.zeros_like(getattr(rows, name)) for name in ("t", "x", "saved")}


def _right_hand_sides(problem: Problem, change: Any, of_events: Any = ()) -> Unknowns:
    """Those of the equations of a tangent, but for the rows, of which there are none."""
    moved = _filled(problem.parameters[0], change.parameters[0])
    dt0, dt1, dx0, dts = (
        _filled(getattr(problem, name), getattr(change, name)) for name in ("t0", "t1", "x0", "ts")
    )
    zero, none = jnp.zeros_like(dt0), jnp.zeros((0,), dt0.dtype)
    return Unknowns(
        (dt0, dx0), (zero, jnp.zeros_like(dx0)), none, none[:, None] * dx0[None],
        none[:, None] * dx0[None], (moved, of_events), dt1, jnp.concatenate([dts, zero[None]]),
        zero,
    )  # fmt: skip


def _filled(value: Any, tangent: Any) -> Any:
    """The tangents of a PyTree of arrays, with zeros for those that are `None`."""
    leaves, structure = jax.tree.flatten(value)
    tangents = structure.flatten_up_to(tangent)
    pairs = zip(leaves, tangents, strict=True)
    return structure.unflatten([jnp.zeros_like(a) if b is None else b for a, b in pairs])


def _tangents(sweeps: Sweeps, problem: Problem, change: Any, now: Progress) -> Any:
    """The tangent of the progress; `None` where there is none."""
    of_events = ()
    if problem.of_events is not None:
        of_events = _filled(problem.of_events[0], change.of_events[0])
    rows, count = now.rows, now.count
    size = rows.h.size - 1
    lin = _right_hand_sides(problem, change, of_events)._replace(**_still(rows))
    if sweeps.equal:
        lin = lin._replace(h=(lin.end - lin.start[0]) / size)
    found = sweeps.map(
        Given(problem.parameters, problem.of_events, rows, problem.ts, count, now.saved), lin
    )
    on = jnp.arange(size + 1, dtype=jnp.int32) < count
    nothing = jax.tree.map(lambda _: None, now)
    assert nothing.rows is not None
    out = nothing._replace(
        t=found.final[0], x=found.final[1],
        rows=nothing.rows._replace(
            t=found.t, h=jnp.where(on, found.t[1:] - found.t[:-1], 0), x=found.x,
            saved=found.saved,
        ),
    )  # fmt: skip
    happened = now.events
    if happened is None or out.events is None or sweeps.crossing is None:
        return out
    row = happened.rows
    jumps = jnp.asarray(sweeps.crossing.events.jumps)[happened.kinds]
    occurred = happened.kinds >= 0
    after = found.x[row + jnp.where(jumps, 2, 1)]
    return out._replace(
        events=out.events._replace(
            ts=jnp.where(occurred, found.t[row + 1], 0),
            xs=jnp.where(occurred[:, None], found.x[row + 1], 0),
            after=jnp.where(occurred[:, None], after, 0),
        )
    )
