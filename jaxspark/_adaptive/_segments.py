"""The motion through all its events, and the rows that it leaves."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_project
from .._custom_types import Args, BoolScalar, FloatScalar, IntScalar, State
from .._results import RESULTS
from .._system import flatten
from ._base import Costs
from ._events import Occurrences, offsets, reset_state
from ._segment import Options, run_segment, Segment
from ._term import ConstrainedTerm


class Progress(eqx.Module):
    """Where the motion is between two segments.

    - `offsets`: for the conditions of events in the segment to come.
    """

    t: FloatScalar
    y: State
    z: State
    result: RESULTS
    going_on: BoolScalar
    accepted: IntScalar
    rejected: IntScalar
    failed: IntScalar
    costs: Costs
    offsets: Float[Array, " events"]


class PiecewiseDense(eqx.Module):
    """Dense output of all segments; the later ones start at `starts`."""

    starts: Float[Array, " segments"]
    end: FloatScalar
    forward: FloatScalar
    pieces: diffrax.DenseInterpolation

    def evaluate(self, t: FloatScalar) -> Any:
        """The state at a time, before an event at that time."""
        later = jnp.sum(self.starts[1:] * self.forward < t * self.forward)
        t = jnp.where(t * self.forward > self.end * self.forward, jnp.nan, t)
        return jax.tree.map(lambda x: x[later], self.pieces).evaluate(t)


class Motion(eqx.Module):
    """All segments together: the end, rows with infinite times where there are none, events."""

    end: Progress
    ts: Float[Array, " n"]
    rows: tuple[State, State]
    events: Occurrences | None
    interpolation: Any


def run_segments(
    term: ConstrainedTerm,
    t0: FloatScalar,
    t1: FloatScalar,
    y: State,
    z: State,
    args: Args,
    ts: Float[Array, " n"] | None,
    h0: FloatScalar | None,
    first: RESULTS,
    options: Options,
) -> Motion:
    """From `t0` to `t1`, through at most `max_events` events after which it goes on.

    **Arguments:**

    - `first`: the verdict on the initial values; unless it is good nothing moves.
    """
    zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), t0.dtype)
    events = options.events
    start = Progress(
        t0, y, z, first, jnp.asarray(first == RESULTS.successful),
        zero, zero, zero, Costs(zero, zero, none, none, none),
        offsets(events, t0, y, z, args, jnp.zeros(len(events), t0.dtype)),
    )  # fmt: skip

    def body(before: Progress, _: Any):
        stop = jnp.where(before.going_on, t1, before.t)
        segment = run_segment(
            term, before.t, stop, before.y, before.z, args, ts, h0, before.offsets, options
        )
        after = _after(term, before, segment, args, options)
        return after, (before.t, before.going_on, segment, after.y, after.z)

    again = any(event.reset is not None for event in options.events)
    end, parts = jax.lax.scan(body, start, None, options.max_events + 1 if again else 1)
    too_many = end.going_on & (end.result == RESULTS.successful)
    result = RESULTS.where(too_many, RESULTS.max_events_reached, end.result)
    end = eqx.tree_at(lambda x: x.result, end, result)
    starts, ran, segments, ys_after, zs_after = parts
    times, rows = _joined(starts, ran, segments, ts, jnp.where(t1 >= t0, 1, -1), options)
    return Motion(
        end, times, rows,
        _occurrences(segments, ys_after, zs_after, options),
        PiecewiseDense(starts, end.t, jnp.where(t1 >= t0, 1.0, -1.0), segments.interpolation)
        if options.dense else None,
    )  # fmt: skip


def _after(
    term: ConstrainedTerm, before: Progress, segment: Segment, args: Args, options: Options
) -> Progress:
    """Where the next segment starts: after the reset, and on the constraints again."""
    result = RESULTS.where(before.going_on, segment.result, before.result)
    y, z = segment.y, segment.z
    resets = [event.reset is not None for event in options.events]
    again = jnp.asarray(False)
    if any(resets):
        again = jnp.any(segment.occurred & jnp.asarray(resets)) & before.going_on
        new = reset_state(options.events, segment.occurred, segment.t, y, z, args)
        flat, flat_y, flat_z = flatten(term.system, segment.t, *new, args)
        flat_y, flat_z, good = flat_project(flat, segment.t, flat_y, flat_z)
        landed = again & good
        y, z = jax.tree.map(
            lambda a, b: jnp.where(landed, a, b),
            (flat.unravel_y(flat_y), flat.unravel_z(flat_z)), (y, z),
        )  # fmt: skip
        result = RESULTS.where(again & ~good, RESULTS.projection_failed, result)
    old, new = before.costs, segment.costs
    costs = Costs(
        old.newton_iterations + new.newton_iterations,
        *(
            jnp.maximum(getattr(old, name), getattr(new, name))
            for name in ("max_newton_iterations", "max_g", "max_gdot", "max_k")
        ),
    )
    return Progress(
        segment.t, y, z, result, again & (result == RESULTS.successful),
        before.accepted + segment.accepted, before.rejected + segment.rejected,
        before.failed + segment.failed, costs,
        offsets(options.events, segment.t, y, z, args, segment.changes),
    )  # fmt: skip


def _joined(starts, ran, segments: Segment, ts, forward, options: Options):
    """The rows of all segments in the order of time, and infinite times after them."""
    times, rows = segments.ts, segments.rows
    if options.save == "ends":
        return times[0], jax.tree.map(lambda x: x[0], rows)
    # Segments after the end of the motion repeat its end.
    filled = jnp.isfinite(times) & ran[:, None]
    if options.save == "ts":
        # Row i belongs to ts[i], in the last segment that began before that time.
        mine = filled & (ts[None, :] * forward >= starts[:, None] * forward)
        last = times.shape[0] - 1 - jnp.argmax(mine[::-1], 0)
        column = jnp.arange(ts.shape[0])
        found = jnp.any(mine, 0)
        out = jnp.where(found, ts, jnp.inf)
        return out, jax.tree.map(lambda x: x[last, column], rows)
    order = jnp.argsort(~filled.reshape(-1), stable=True)
    kept = jnp.sum(filled)
    flat_times = times.reshape(-1)[order]
    flat_times = jnp.where(jnp.arange(order.size) < kept, flat_times, jnp.inf)
    return flat_times, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[order], rows)


def _occurrences(segments: Segment, ys_after, zs_after, options: Options) -> Occurrences | None:
    if not options.events:
        return None
    occurred = segments.occurred
    any_of = jnp.any(occurred, 1)

    def blank(x):
        return jnp.where(any_of.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.nan)

    return Occurrences(
        jnp.sum(any_of, dtype=jnp.int32), blank(segments.t),
        jnp.where(any_of, jnp.argmax(occurred, 1), -1),
        *jax.tree.map(blank, (segments.y, segments.z, ys_after, zs_after)),
    )  # fmt: skip
