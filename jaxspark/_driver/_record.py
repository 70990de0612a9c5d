"""The loop over steps: one body for all of them, and a row for each that was accepted.

A trip of the loop is one step of the method: the probe from which the first size follows, a trial,
or a shorter step from the last row, to a time that is to be saved or where an event may be. So the
method stands once in the program.
"""

from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import stop_gradient
from .._results import RESULTS
from ._control import adapt, first_step, scaled_error, SMALLER, start
from ._happen import after_jump, after_look, crossing, first_happening
from ._locate import AbstractEvents, ENDING, GOING, LOCATING, OVER, REACHED
from ._lockstep import loop_with_rows
from ._rows import (
    at,
    few_rows,
    few_written,
    FewRows,
    LAST,
    ORDINARY,
    Problem,
    Progress,
    put,
    Row,
    Rows,
    select,
    Totals,
    written,
)
from ._steps import AbstractSteps, Step


# Sizes of steps below this many units in the last place of the time do not advance it.
UNITS = 16


def record(
    method: AbstractSteps,
    events: AbstractEvents | None,
    problem: Problem,
    size: int | None,
    equal: bool = False,
    meter: Any = None,
    few: bool = False,
) -> Progress:
    """Run the loop.

    **Arguments:**

    - `method`: makes steps; `events`: what may happen between them.
    - `problem`: see `Problem`.
    - `size`: room for so many accepted steps; `None` keeps none of them.
    - `equal`: whether to make `size` steps of equal size, whatever their errors.
    - `meter`: shows the progress, if there is one, by `state = meter.init()`, `state =
        meter.step(state, fraction)` and `meter.close(state)`, as those of diffrax. Lanes of a batch
        with a meter that go on together are slower: each trip copies their rows.
    - `few`: whether to keep of the steps no more than `FewRows`.
    """

    def going(problem: Problem, now: Progress) -> BoolScalar:
        sign = _direction(problem)
        moving = (sign * (problem.t1 - now.t) > 0) & ~now.stuck
        trials = now.totals.accepted + now.totals.rejected
        on = moving & (trials < problem.limit)
        if now.events is not None:
            phase = now.events.phase
            on = jnp.where(phase == GOING, on, phase != OVER)
        return problem.going & (_reached(now, problem, events, sign) | on)

    def trip(problem: Problem, now: Progress, rows: Any) -> tuple[Progress, Any]:
        now = now._replace(rows=rows)
        after = _trip(method, events, problem, _direction(problem), now, equal)
        return after._replace(rows=None), after.rows

    begin = _begin(method, events, problem, size, few)
    if meter is None:
        now, rows = loop_with_rows(going, trip, problem, begin._replace(rows=None), begin.rows)
        return now._replace(rows=rows)
    span = problem.t1 - problem.t0

    def shown(carry):
        now, state = carry
        after, rows = trip(problem, now._replace(rows=None), now.rows)
        now = after._replace(rows=rows)
        fraction = (now.t - problem.t0) / jnp.where(span == 0, 1, span)
        return now, meter.step(state, fraction)

    end, state = jax.lax.while_loop(
        lambda carry: going(problem, carry[0]), shown, (begin, meter.init())
    )
    meter.close(state)
    return end


def _direction(problem: Problem) -> FloatScalar:
    """1 where time goes forward, -1 where it goes backward."""
    return jnp.where(problem.t1 < problem.t0, -1, 1).astype(problem.t0.dtype)


def _reached(
    now: Progress, problem: Problem, events: AbstractEvents | None, sign: FloatScalar
) -> BoolScalar:
    """Whether the next time to save has been passed.

    At an event after which the motion goes on, what is saved is the state after it.
    """
    if problem.ts.size == 0:
        return jnp.asarray(False)
    next_time = at(problem.ts, jnp.minimum(now.saved, problem.ts.size - 1))
    ahead = sign * (now.t - next_time)
    passed = ahead >= 0
    if events is not None and now.events is not None:
        phase = now.events.phase
        passed = jnp.where(phase == REACHED, ahead > 0, passed)
        passed = passed & (phase != LOCATING) & (phase != ENDING)
    return (now.saved < problem.ts.size) & passed


def _begin(
    method: AbstractSteps,
    events: AbstractEvents | None,
    problem: Problem,
    size: int | None,
    few: bool,
) -> Progress:
    x, t = problem.x0, problem.t0
    zero, none = jnp.zeros((), jnp.int32), jnp.zeros_like(t)
    nts = problem.ts.size
    rows = None
    memory, note = method.start(problem.parameters, t, x)
    if problem.memory is not None:
        memory = problem.memory
    if few:
        assert size is not None
        rows = few_rows(t, x, note, size)
    elif size is not None or nts:
        room = 0 if size is None else size + (0 if events is None else events.most + 1)
        notes = lambda n: jax.tree.map(
            lambda like: jnp.zeros((n + 1, *jnp.shape(like)), like.dtype), note
        )
        rows = Rows(
            jnp.broadcast_to(t, (room + 2,)), jnp.zeros(room + 1, t.dtype),
            jnp.zeros((room + 2, x.size), x.dtype).at[0].set(x), notes(room),
            jnp.zeros(room + 1, jnp.int32),
            jnp.zeros(nts + 1, jnp.int32), notes(nts), jnp.broadcast_to(x, (nts + 1, x.size)),
        )  # fmt: skip
    chosen = jnp.isfinite(problem.first)
    span = jnp.abs(problem.t1 - t)
    first = method.first_size(problem.parameters, t, x, problem.tolerances)
    if first is None:
        first = method.probe(x.dtype) * span
    unknown = jnp.minimum(stop_gradient(first), span)
    h = jnp.where(chosen, problem.first, unknown)
    h = jnp.minimum(h, problem.tolerances.longest)
    known = chosen if method.probes else jnp.asarray(True)
    return Progress(
        t, x, t, x, memory, start(h), known, zero, zero, zero, jnp.asarray(False),
        RESULTS.successful, Totals(zero, zero, zero, zero, zero, none, none, none), rows,
        None if events is None else first_happening(events, problem),
    )  # fmt: skip


def _trip(
    method: AbstractSteps,
    events: AbstractEvents | None,
    problem: Problem,
    sign: FloatScalar,
    now: Progress,
    equal: bool,
) -> Progress:
    """One step of the method: to a time that is saved, to where an event may be, or onward."""
    saving = _reached(now, problem, events, sign)
    back = saving
    if equal:
        assert isinstance(now.rows, Rows)
        number = now.rows.h.size - 1
        h = (problem.t1 - problem.t0) / number
        last = now.totals.accepted == number - 1
    else:
        remaining = sign * (problem.t1 - now.t)
        size = now.control.h
        last = size >= remaining * (1 - 1e-10)
        h = sign * jnp.where(last, remaining, size)
    if problem.ts.size:
        next_time = at(problem.ts, jnp.minimum(now.saved, problem.ts.size - 1))
        h = jnp.where(saving, next_time - now.t_before, h)
    if now.events is not None:
        looking = (now.events.phase == LOCATING) | (now.events.phase == ENDING)
        back = saving | looking
        h = jnp.where(looking, now.events.search.at, h)
    t, x = select(back, (now.t_before, now.x_before), (now.t, now.x))
    step = method.make(problem.parameters, t, h, x, now.memory)
    rows, bare = now.rows, now._replace(rows=None)
    after, row = _after_trial(method, problem, sign, bare, step, h, last, equal)
    if events is not None and now.events is not None:
        values = events.conditions(problem.of_events, t + h, step.x1) + now.events.offsets
        after = crossing(events, bare, after, h, values)
        looked = after_look(events, bare, step, h, values)
        after, row = select(looking, looked, (after, row))
        jumping = (now.events.phase == REACHED) & ~saving
        after, row = jax.lax.cond(
            jumping,
            lambda: after_jump(method, events, problem, bare, row),
            lambda: (after, row),
        )
    if rows is None:
        return after
    # What does not count is written where the next trip overwrites it: no buffer is selected.
    if isinstance(rows, FewRows):
        return after._replace(rows=few_written(rows, row))
    # Of a lane that does not start even the first rows stay as they are.
    if rows.h.size > 1:
        index = jnp.where(problem.going, row.index, rows.h.size - 1)
        rows = written(rows, row._replace(index=index))
    if problem.ts.size:
        place = jnp.where(problem.going, now.saved, problem.ts.size)
        rows = rows._replace(
            parents=put(rows.parents, now.parent, place),
            saved_note=put(rows.saved_note, step.note, place),
            saved=put(rows.saved, step.x1, place),
        )
        after = select(saving, bare._replace(saved=now.saved + 1), after)
    return after._replace(rows=rows)


def _after_trial(
    method: AbstractSteps,
    problem: Problem,
    sign: FloatScalar,
    now: Progress,
    step: Step,
    h: FloatScalar,
    last: BoolScalar,
    equal: bool,
) -> tuple[Progress, Row]:
    """What a trial, or the probe, leads to; and its row, which is overwritten if it fails."""
    order, tolerances = method.error_order, problem.tolerances
    size, elapsed = jnp.abs(h), sign * (now.t + h - problem.t0)
    good = step.verdict == RESULTS.successful
    error = scaled_error(tolerances, now.x, step.x1, step.error, good)
    keep, control = adapt(
        now.control, tolerances, method.gains, order, elapsed, size, error, step.rough
    )
    scale = jnp.maximum(jnp.abs(now.t), jnp.abs(problem.t1 - problem.t0))
    smallest = UNITS * jnp.finfo(h.dtype).eps * scale
    probing, probed = jnp.asarray(False), jnp.asarray(True)
    if method.probes:
        assert step.slopes is not None
        first = first_step(tolerances, order, now.x, *step.slopes, size)
        probing = ~now.probed & ~last
        probed = ~(probing & ~good & (SMALLER * size > smallest))
        keep = keep & ~probing
        control = select(probing, start(jnp.where(probed, first, SMALLER * size)), control)
    # Derivatives hold the sizes of steps constant.
    control = stop_gradient(control)
    t1 = jnp.where(last, problem.t1, now.t + h)
    if equal:
        # Multiplied, not added up: no rounding error accumulates in time.
        following = problem.t0 + (now.totals.accepted + 1).astype(h.dtype) * h
        t1 = jnp.where(last, problem.t1, following)
        keep, probing, control = good, jnp.asarray(False), now.control
    failed = ~good if equal else ~jnp.isfinite(error)
    totals, one = now.totals, jnp.ones((), jnp.int32)
    # Of steps: a probe is none.
    iterations = jnp.where(probing, 0, step.iterations)
    count = lambda condition: jnp.where(condition, one, 0)
    residuals = method.residuals(problem.parameters, t1, step.x1)
    worst = [jnp.max(jnp.abs(r), initial=0.0) for r in residuals]
    old = (totals.max_g, totals.max_gdot, totals.max_k)
    worst = [jnp.where(keep, jnp.maximum(a, b), a) for a, b in zip(old, worst, strict=True)]
    totals = Totals(
        totals.accepted + count(keep), totals.rejected + count(~keep & ~probing),
        totals.failed + count(failed & ~probing), totals.iterations + iterations,
        jnp.maximum(totals.most, iterations), *worst,
    )  # fmt: skip
    kind = jnp.where(last, LAST, ORDINARY).astype(jnp.int32)
    row = Row(now.count, now.t, h, now.x, step.note, kind, t1, step.x1)
    moved = (t1, step.x1, now.t, now.x, step.memory, now.count + 1, now.count)
    stayed = (now.t, now.x, now.t_before, now.x_before, now.memory, now.count, now.parent)
    t, x, t_before, x_before, memory, number, parent = select(keep, moved, stayed)
    stuck = ~keep if equal else ~probing & (control.h <= smallest)
    after = Progress(
        t, x, t_before, x_before, stop_gradient(memory), control, probed, number,
        parent, now.saved, stuck, step.verdict, totals, None, now.events,
    )  # fmt: skip
    return after, row
