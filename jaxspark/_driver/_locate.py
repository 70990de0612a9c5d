"""Where inside a step conditions change sign, found by shorter steps, one a trip of the loop."""

import abc
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS


# What comes next: a step; a shorter one, to locate an event; one that ends there; the jump of the
# state, after all earlier times have been saved; nothing.
GOING, LOCATING, ENDING, REACHED, OVER = (np.int32(i) for i in range(5))
MOST_TRIPS = 60


class AbstractEvents(abc.ABC):
    """Conditions, and what happens where one of them changes sign; arrays come as `parameters`.

    These are a pair of PyTrees, those that are differentiated and the others.

    - `directions`: of each condition, `True` if it must rise, `False` if it must fall.
    - `jumps`: of each, whether the motion goes on after it; at most `most` times in all.
    """

    directions: tuple[bool | None, ...]
    jumps: tuple[bool, ...]
    most: int

    @abc.abstractmethod
    def conditions(
        self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]
    ) -> Float[Array, " events"]:
        """Their values."""

    @abc.abstractmethod
    def jump(
        self, parameters: Any, which: IntScalar, t: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], BoolScalar]:
        """The state after one of them, and whether it was found."""

    def offsets(
        self, values: Float[Array, " events"], changes: Float[Array, " events"]
    ) -> Float[Array, " events"]:
        """What is to be added to conditions that are zero at a start, but for rounding errors.

        Right after an event its condition has either sign. On the wrong side, where it would have
        to cross zero before the event could occur again, the next event might pass unnoticed.

        **Arguments:**

        - `changes`: how much each condition changed in the step that ended here with its event;
            zero if there was none. Values far below are rounding errors.
        """
        sides = jnp.asarray([1.0 if x is False else -1.0 for x in self.directions], values.dtype)
        counts = jnp.asarray([x is not None for x in self.directions])
        wrong = counts & (sides * values <= 0) & (jnp.abs(values) <= 1e-6 * changes)
        limits = jnp.finfo(values.dtype)
        # Enough for the sum with the condition to lie on the right side after rounding.
        tiny = jnp.maximum(4 * limits.eps * jnp.abs(values), limits.tiny)
        return jnp.where(wrong, sides * tiny - values, 0)

    def crossed(
        self, first: Float[Array, " events"], last: Float[Array, " events"]
    ) -> Bool[Array, " events"]:
        """Which conditions have changed sign, in the direction that counts."""
        rises, falls = (first <= 0) & (last > 0), (first > 0) & (last <= 0)
        either = jnp.sign(first) != jnp.sign(last)
        kinds = zip(self.directions, rises, falls, either, strict=True)
        return jnp.stack([e if d is None else r if d else f for d, r, f, e in kinds])


class Search(NamedTuple):
    """A bracket of the first event of a step, as distances from its start.

    - `a`, `b`: before and after it; `of_a`, `of_b`: the conditions there.
    - `weighed_a`, `weighed_b`: the same, halved where one end has stayed twice (Illinois).
    - `end`: the conditions at the end of the step.
    - `side`: which end moved last; `trips`: how many there were.
    - `at`: where the next shorter step ends.
    """

    a: FloatScalar
    b: FloatScalar
    of_a: Float[Array, " events"]
    of_b: Float[Array, " events"]
    weighed_a: Float[Array, " events"]
    weighed_b: Float[Array, " events"]
    end: Float[Array, " events"]
    side: IntScalar
    trips: IntScalar
    at: FloatScalar


class Happening(NamedTuple):
    """How far an event has come, and those before.

    - `phase`: what comes next.
    - `values`, `before`: the conditions where the motion is, and where the last step started.
    - `offsets`: which they have in them.
    - `which`: the last event; `number`: how many there were; `verdict`: on finding them.
    - `rows`: for each, the step that ended there; `kinds`: which it was, -1 if there was none.
    - `ts`, `xs`, `after`: its time, and the states before and after it.
    """

    phase: IntScalar
    values: Float[Array, " events"]
    before: Float[Array, " events"]
    offsets: Float[Array, " events"]
    search: Search
    which: IntScalar
    number: IntScalar
    verdict: RESULTS
    rows: Int[Array, " most2"]
    kinds: Int[Array, " most2"]
    ts: Float[Array, " most2"]
    xs: Float[Array, "most2 n"]
    after: Float[Array, "most2 n"]


def nothing_yet(
    events: AbstractEvents, values: Float[Array, " events"], x: Float[Array, " n"]
) -> Happening:
    """Before the first step, with the conditions there."""
    zero, room = jnp.zeros((), jnp.int32), events.most + 2
    offsets = events.offsets(values, jnp.zeros_like(values))
    values = values + offsets
    blank = jnp.broadcast_to(jnp.asarray(jnp.nan, x.dtype), (room, x.size))
    return Happening(
        zero, values, values, offsets, begun(values, values, jnp.zeros_like(x[0])), zero, zero,
        RESULTS.successful, jnp.zeros(room, jnp.int32), jnp.full(room, -1, jnp.int32),
        jnp.full(room, jnp.nan, x.dtype), blank, blank,
    )  # fmt: skip


def begun(first: Float[Array, " events"], last: Float[Array, " events"], h: FloatScalar) -> Search:
    """The whole step, of size `h`."""
    # A start at zero, right after an event, tells a secant nothing but the side.
    nowhere = jnp.abs(first) <= 1e-6 * jnp.abs(last)
    weighed = jnp.where(nowhere, -last, first)
    zero = jnp.zeros((), jnp.int32)
    return Search(jnp.zeros_like(h), h, first, last, weighed, last, last, zero, zero, 0.5 * h)


def estimates(events: AbstractEvents, search: Search) -> Float[Array, " events"]:
    """Where secants say that the conditions vanish, as parts of the bracket; 2 if they need not."""
    inside = events.crossed(search.of_a, search.of_b)
    slope = search.weighed_b - search.weighed_a
    part = -search.weighed_a / jnp.where(slope != 0, slope, 1)
    part = jnp.where(slope != 0, jnp.clip(part, 0, 1), 0.5)
    return jnp.where(inside, part, 2.0)


def aimed(events: AbstractEvents, search: Search) -> Search:
    """With the next place to look: the first zero of a secant, or every third time half way."""
    part = jnp.min(estimates(events, search))
    halved = (part <= 0) | (part >= 1) | (search.trips % 3 == 2)
    part = jnp.where(halved, 0.5, part)
    return search._replace(at=search.a + part * (search.b - search.a))


def narrowed(
    events: AbstractEvents, search: Search, values: Float[Array, " events"], h: FloatScalar
) -> tuple[Search, BoolScalar]:
    """The bracket after a look at `search.at`, in a step of size `h`, and whether it will do.

    Source: M. Dowell & P. Jarratt, *A modified regula falsi method for computing the root of an
    equation*, BIT 11 (1971), for one condition; of several the first that changes sign.
    """
    beyond = jnp.any(events.crossed(search.of_a, values))
    again_b, again_a = search.side == 1, search.side == -1
    moved_b = Search(
        search.a, search.at, search.of_a, values,
        jnp.where(again_b, search.weighed_a / 2, search.weighed_a), values, search.end,
        jnp.ones_like(search.side), search.trips + 1, search.at,
    )  # fmt: skip
    moved_a = Search(
        search.at, search.b, values, search.of_b, values,
        jnp.where(again_a, search.weighed_b / 2, search.weighed_b), search.end,
        -jnp.ones_like(search.side), search.trips + 1, search.at,
    )  # fmt: skip
    found = Search(*(jnp.where(beyond, b, a) for a, b in zip(moved_a, moved_b, strict=True)))
    narrow = jnp.abs(found.b - found.a) <= 4 * jnp.finfo(h.dtype).eps * jnp.abs(h)
    return aimed(events, found), narrow | (found.trips >= MOST_TRIPS)


def ended(
    events: AbstractEvents, search: Search, h: FloatScalar
) -> tuple[Search, IntScalar, BoolScalar]:
    """Where the event is, which it is, and whether that is certain."""
    which = jnp.argmin(estimates(events, search)).astype(jnp.int32)
    nearer = jnp.abs(search.of_a[which]) < jnp.abs(search.of_b[which])
    there = jnp.where(nearer, search.a, search.b)
    sure = jnp.abs(search.b - search.a) <= 1e-3 * jnp.abs(h)
    return search._replace(at=there), which, sure & jnp.all(jnp.isfinite(search.of_b))
