"""What the loop is given, what it carries from trip to trip, and what it leaves."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS
from ._control import Control, Tolerances
from ._locate import Happening


# How a step ended: where its size said; at the final time; at an event, this plus its number. A row
# of -1 less a number is no step but the jump of the state at that event.
ORDINARY, LAST, AT_EVENT = 0, 1, 2
# Of few rows, the steps from one mark to the next.
SEGMENT = 256


class Rows(NamedTuple):
    """What a derivative needs of each accepted step, and of each saved state.

    Each array has a last row that is no result: what does not count is written there, or where
    the next trip overwrites it.

    - `t`, `h`, `x`, `note`, `kind`: of the steps, at their start; `t` and `x` have one row more,
        for the end.
    - `parents`: for each saved time, the step in which it is; `saved_note`: of the shorter one.
    - `saved`: the states there.
    """

    t: Float[Array, " size2"]
    h: Float[Array, " size1"]
    x: Float[Array, "size2 n"]
    note: Any
    kind: Int[Array, " size1"]
    parents: Int[Array, " nts1"]
    saved_note: Any
    saved: Float[Array, "nts1 n"]


class FewRows(NamedTuple):
    """What is recorded where steps are made again; each array has a last row that is no result.

    - `h`, `note`: of all steps.
    - `marks`: `(t, x)` at the start of every segment; `window`: of the steps of the last one.
    """

    h: Float[Array, " size1"]
    note: Any
    marks: tuple[Float[Array, " marks"], Float[Array, "marks n"]]
    window: tuple[Float[Array, " window"], Float[Array, "window n"]]


class Row(NamedTuple):
    """What is to be written of a step, at `index`; `t1`, `x1` are its end."""

    index: IntScalar
    t: FloatScalar
    h: FloatScalar
    x: Float[Array, " n"]
    note: Any
    kind: IntScalar
    t1: FloatScalar
    x1: Float[Array, " n"]


class Totals(NamedTuple):
    """Numbers of steps and iterations, the most of any step, the worst residuals at their ends."""

    accepted: IntScalar
    rejected: IntScalar
    failed: IntScalar
    iterations: IntScalar
    most: IntScalar
    max_g: FloatScalar
    max_gdot: FloatScalar
    max_k: FloatScalar


class Progress(NamedTuple):
    """The carry of the loop.

    - `t`, `x`: where it is; `t_before`, `x_before`: the start of the last accepted step.
    - `memory`: what the method remembers of that step.
    - `count`: how many rows there are; `parent`: that of the last accepted step, or of the one to
        come right after a jump.
    - `saved`: how many of the times have been saved.
    - `stuck`: whether the step size has fallen below what time resolves.
    - `verdict`: of the method on the last trial.
    - `rows`: `Rows`, `FewRows` or `None`.
    - `events`: how far one has come, if there are any.
    """

    t: FloatScalar
    x: Float[Array, " n"]
    t_before: FloatScalar
    x_before: Float[Array, " n"]
    memory: Any
    control: Control
    probed: BoolScalar
    count: IntScalar
    parent: IntScalar
    saved: IntScalar
    stuck: BoolScalar
    verdict: RESULTS
    totals: Totals
    rows: Any
    events: Happening | None


class Problem(NamedTuple):
    """What the loop is to do; all of it arrays.

    - `t0`, `t1`, `x0`, `parameters`: the initial value problem.
    - `of_events`: the parameters of conditions and jumps.
    - `ts`: the times to save, in the order of time, shape `(nts,)`.
    - `first`: the size of the first step; NaN if it is to be chosen.
    - `tolerances`: of the steps.
    - `limit`: the largest number of trials.
    - `going`: whether to start at all.
    - `memory`: of a step before; `None` if there was none.
    """

    t0: FloatScalar
    t1: FloatScalar
    x0: Float[Array, " n"]
    parameters: Any
    of_events: Any
    ts: Float[Array, " nts"]
    first: FloatScalar
    tolerances: Tolerances
    limit: IntScalar
    going: BoolScalar
    memory: Any = None


def at(rows: Any, index: IntScalar) -> Any:
    """A row of arrays, or of PyTrees of them."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, index, 0, False), rows)


def put(rows: Any, row: Any, index: IntScalar) -> Any:
    """The rows with this one at an index."""
    write = lambda rows, row: jax.lax.dynamic_update_index_in_dim(
        rows, jnp.asarray(row, rows.dtype), index, 0
    )
    return jax.tree.map(write, rows, row)


def written(rows: Rows, row: Row) -> Rows:
    """With the row of a step; what counts no longer, or not yet, is overwritten."""
    i = row.index
    return rows._replace(
        t=put(put(rows.t, row.t, i), row.t1, i + 1), h=put(rows.h, row.h, i),
        x=put(put(rows.x, row.x, i), row.x1, i + 1), note=put(rows.note, row.note, i),
        kind=put(rows.kind, row.kind, i),
    )  # fmt: skip


def few_rows(t: FloatScalar, x: Float[Array, " n"], note: Any, size: int) -> FewRows:
    """Room for few rows of `size` steps."""
    start = (t, x)
    room = lambda n: jax.tree.map(lambda like: jnp.zeros((n, *like.shape), like.dtype), start)
    notes = jax.tree.map(lambda like: jnp.zeros((size + 1, *like.shape), like.dtype), note)
    marks = put(room(size // SEGMENT + 2), start, jnp.zeros((), jnp.int32))
    return FewRows(jnp.zeros(size + 1, t.dtype), notes, marks, room(min(SEGMENT, size) + 1))


def few_written(rows: FewRows, row: Row) -> FewRows:
    """Few rows with one more, which the next one overwrites where the step fails."""
    i, start = row.index, (row.t, row.x)
    spare = jnp.asarray(rows.marks[0].size - 1, i.dtype)
    place = i % SEGMENT
    mark = jnp.where(place == 0, i // SEGMENT, spare)
    return FewRows(
        put(rows.h, row.h, i), put(rows.note, row.note, i), put(rows.marks, start, mark),
        put(rows.window, start, place),
    )  # fmt: skip


def select(chosen: BoolScalar, a: Any, b: Any) -> Any:
    """One of two PyTrees."""
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), a, b)
