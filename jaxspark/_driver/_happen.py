"""What an event does to the progress of a motion: found, reached, and the state after it."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._results import RESULTS
from ._locate import (
    AbstractEvents,
    aimed,
    begun,
    ended,
    ENDING,
    GOING,
    Happening,
    LOCATING,
    narrowed,
    nothing_yet,
    OVER,
    REACHED,
)
from ._rows import AT_EVENT, Problem, Progress, put, Row, select
from ._steps import AbstractSteps, Step


def first_happening(events: AbstractEvents, problem: Problem) -> Happening:
    """Before the first step."""
    values = events.conditions(problem.of_events, problem.t0, problem.x0)
    return nothing_yet(events, values, problem.x0)


def crossing(
    events: AbstractEvents,
    now: Progress,
    after: Progress,
    h: FloatScalar,
    values: Float[Array, " events"],
) -> Progress:
    """After a trial of size `h`: if it was kept and a condition changed sign, look where."""
    assert now.events is not None
    keep = after.count > now.count
    crossed = keep & jnp.any(events.crossed(now.events.values, values))
    search = aimed(events, begun(now.events.values, values, h))
    old, before = now.events, now.events.values
    new = old._replace(
        phase=jnp.where(crossed, LOCATING, GOING), values=values, before=before, search=search
    )
    return after._replace(events=select(keep, new, old))


def after_look(
    events: AbstractEvents,
    now: Progress,
    step: Step,
    h: FloatScalar,
    values: Float[Array, " events"],
) -> tuple[Progress, Row]:
    """After a shorter step of size `h`: a narrower bracket or, at its end, the event itself.

    The step that led beyond it is replaced by one that ends there.
    """
    happening = now.events
    assert happening is not None
    whole = now.t - now.t_before
    good = step.verdict == RESULTS.successful
    search, done = narrowed(events, happening.search, values, whole)
    final, which, sure = ended(events, search, whole)
    lost = ~good | (done & ~sure)
    locating = happening._replace(
        phase=jnp.where(lost, OVER, jnp.where(done, ENDING, LOCATING)),
        search=select(done, final, search), which=which,
        verdict=RESULTS.where(lost, RESULTS.event_not_located, happening.verdict),
    )  # fmt: skip
    # The step ends here instead.
    t, which, i = now.t_before + h, happening.which, happening.number
    goes_on = jnp.asarray(events.jumps)[which]
    reached = happening._replace(
        phase=jnp.where(goes_on, REACHED, OVER), values=values, number=i + 1,
        rows=put(happening.rows, now.count - 1, i), kinds=put(happening.kinds, which, i),
        ts=put(happening.ts, t, i), xs=put(happening.xs, step.x1, i),
        after=put(happening.after, step.x1, i),
    )  # fmt: skip
    ending = happening.phase == ENDING
    there = now._replace(t=t, x=step.x1, events=reached)
    kind = (AT_EVENT + which).astype(jnp.int32)
    last = Row(now.count - 1, now.t_before, h, now.x_before, step.note, kind, t, step.x1)
    # Nothing yet: the next trip overwrites it.
    none = Row(now.count, now.t, h, now.x, step.note, kind, t, step.x1)
    return select(ending, (there, last), (now._replace(events=locating), none))


def after_jump(
    method: AbstractSteps,
    events: AbstractEvents,
    problem: Problem,
    now: Progress,
    row: Row,
) -> tuple[Progress, Row]:
    """After an event: the new state, from which the motion starts afresh, in a row of its own."""
    happening = now.events
    assert happening is not None
    which, t = happening.which, now.t
    x, good = events.jump(problem.of_events, which, t, now.x)
    x = jnp.where(good, x, now.x)
    too_many = happening.number > events.most
    verdict = RESULTS.where(too_many, RESULTS.max_events_reached, happening.verdict)
    verdict = RESULTS.where(good, verdict, RESULTS.projection_failed)
    values = events.conditions(problem.of_events, t, x)
    search, before = happening.search, happening.before
    changed = events.crossed(before, search.end)
    offsets = events.offsets(values, jnp.where(changed, jnp.abs(search.end - before), 0))
    happening = happening._replace(
        phase=jnp.where(good & ~too_many, GOING, OVER), values=values + offsets,
        before=values + offsets, offsets=offsets, verdict=verdict,
        after=put(happening.after, x, happening.number - 1),
    )  # fmt: skip
    control = now.control._replace(
        error=jnp.ones_like(now.control.error), wall=-jnp.full_like(now.control.wall, jnp.inf)
    )
    kind, zero = (-1 - which).astype(jnp.int32), jnp.zeros_like(t)
    row = Row(now.count, t, zero, now.x, row.note, kind, t, x)
    memory = method.start(problem.parameters, t, x)[0]
    count = now.count + 1
    after = Progress(
        t, x, t, x, memory, control, now.probed, count, count, now.saved, jnp.asarray(False),
        RESULTS.successful, now.totals, None, happening,
    )  # fmt: skip
    return after, row
