"""Events: where a condition changes sign, and what happens to the state there."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._custom_types import Args, FloatScalar, Function, RealScalarLike, State
from .._system import check_like, require_callable


class Event(eqx.Module):
    """Something that happens where a function of the state changes sign.

    It is located inside the step by shorter steps, to rounding error, and so satisfies the
    constraints as any state does. A step in which the function changes sign twice passes it
    unnoticed: `max_step` of [`jaxspark.solve`][] prevents this. A condition that is zero at the
    very start, and leaves zero in the direction that counts, is an event there.

    **Arguments:**

    - `condition`: `condition(t, y, z, args)`, a scalar that is zero at the event.
    - `direction`: `True` if only rising values count, `False` for falling ones, `None` for both.
    - `reset`: `reset(t, y, z, args)`, which returns the state `(y, z)` after the event, from
        where the motion goes on after a projection; for instance [`jaxspark.impact`][]. `None`
        ends the motion at the event.

    **Raises:** `TypeError` if `condition` or `reset` is not callable; `ValueError` for another
    `direction`, or a `reset` without one: after it the condition is still zero, and would count
    again.
    """

    condition: Function
    direction: bool | np.bool_ | None = eqx.field(default=None, static=True)
    reset: Function | None = None

    def __check_init__(self):
        require_callable("condition", self.condition, optional=False)
        require_callable("reset", self.reset)
        if not (self.direction is None or isinstance(self.direction, (bool, np.bool_))):
            raise ValueError(f"direction must be True, False or None; got {self.direction!r}.")
        if self.reset is not None and self.direction is None:
            raise ValueError(
                "An event with a reset needs direction=True (the condition rises) or False (it "
                "falls): after the reset the condition is still zero, and would count again."
            )


class Occurrences(eqx.Module):
    """The events that occurred, in the order of time, each with the states before and after.

    - `count`: how many there are.
    - `ts`: their times, shape `(n,)` with `n >= count`; NaN after the last one, as is the rest.
    - `which`: the index of each among the `events` of [`jaxspark.solve`][], shape `(n,)`; -1
        after the last one.
    - `ys`, `zs`: the states before them, with a leading axis of length `n`.
    - `ys_after`, `zs_after`: the states after them, likewise.
    """

    count: Int[Array, ""]
    ts: Float[Array, " n"]
    which: Int[Array, " n"]
    ys: State
    zs: State
    ys_after: State
    zs_after: State


def as_events(events: Any) -> tuple[Event, ...]:
    """None, one or several of them as a tuple; `TypeError` if they are something else."""
    if events is None:
        return ()
    events = (events,) if isinstance(events, Event) else events
    if not isinstance(events, Sequence) or not all(isinstance(x, Event) for x in events):
        raise TypeError(f"events must be jaxspark.Event(...), or several; got {events!r}.")
    return tuple(events)


def value(event: Event, t: RealScalarLike, state: Any, args: Args) -> FloatScalar:
    """The condition of an event; `ValueError` unless it is a real scalar."""
    out = jnp.asarray(event.condition(t, *state, args))
    if out.shape != () or not jnp.issubdtype(out.dtype, jnp.floating):
        raise ValueError(
            "condition(t, y, z, args) must return a real scalar; got shape "
            f"{out.shape} and dtype {out.dtype}."
        )
    return out


def reset_state(
    event: Event, t: FloatScalar, y: State, z: State, args: Args
) -> tuple[State, State]:
    """The state after an event, before its projection."""
    assert event.reset is not None
    new = tuple(event.reset(t, y, z, args))
    check_like("reset(t, y, z, args)", new, (y, z), "the state (y, z)")
    return new
