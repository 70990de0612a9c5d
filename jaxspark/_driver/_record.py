"""The loop over steps: one body for all of them, and a row for each that was accepted.

A trip of the loop is one step of the method: the probe from which the first size follows, a trial,
or a shorter step from the last row to a time that is to be saved. So the method stands once in the
program.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._implicit import stop_gradient
from .._results import RESULTS
from ._control import adapt, Control, first_step, PROBE, scaled_error, start, Tolerances
from ._steps import AbstractSteps, Step


# Sizes of steps below this many units in the last place of the time do not advance it.
UNITS = 16


class Rows(NamedTuple):
    """What a derivative needs of each accepted step, and of each saved state.

    Each array has a last row that is no result: what does not count is written there, or where
    the next trip overwrites it.

    - `t`, `h`, `x`, `note`: of the steps, at their start; `x` has one row more, for the end.
    - `parents`: for each saved time, the step in which it is; `saved_note`: of the shorter one.
    - `saved`: the states there.
    """

    t: Float[Array, " size1"]
    h: Float[Array, " size1"]
    x: Float[Array, "size2 n"]
    note: Any
    parents: Int[Array, " nts1"]
    saved_note: Any
    saved: Float[Array, "nts1 n"]


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
    - `saved`: how many of the times have been saved.
    - `stuck`: whether the step size has fallen below what time resolves.
    - `verdict`: of the method on the last trial.
    """

    t: FloatScalar
    x: Float[Array, " n"]
    t_before: FloatScalar
    x_before: Float[Array, " n"]
    memory: Any
    control: Control
    probed: BoolScalar
    saved: IntScalar
    stuck: BoolScalar
    verdict: RESULTS
    totals: Totals
    rows: Rows | None


class Problem(NamedTuple):
    """What the loop is to do; all of it arrays.

    - `t0`, `t1`, `x0`, `parameters`: the initial value problem.
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
    ts: Float[Array, " nts"]
    first: FloatScalar
    tolerances: Tolerances
    limit: IntScalar
    going: BoolScalar
    memory: Any = None


def record(
    method: AbstractSteps, problem: Problem, size: int | None, equal: bool = False
) -> Progress:
    """Run the loop.

    **Arguments:**

    - `method`: makes steps.
    - `problem`: see `Problem`.
    - `size`: room for so many accepted steps; `None` keeps none of them.
    - `equal`: whether to make `size` steps of equal size, whatever their errors.
    """
    span = problem.t1 - problem.t0
    sign = jnp.where(span < 0, -1, 1).astype(span.dtype)

    def going(now: Progress) -> BoolScalar:
        unsaved = (now.saved < problem.ts.size) & _reached(now, problem, sign)
        moving = (sign * (problem.t1 - now.t) > 0) & ~now.stuck
        trials = now.totals.accepted + now.totals.rejected
        return problem.going & (unsaved | (moving & (trials < problem.limit)))

    return jax.lax.while_loop(
        going, lambda now: _trip(method, problem, sign, now, equal), _begin(method, problem, size)
    )


def _reached(now: Progress, problem: Problem, sign: FloatScalar) -> BoolScalar:
    """Whether the next time to save has been passed."""
    if problem.ts.size == 0:
        return jnp.asarray(False)
    next_time = _at(problem.ts, jnp.minimum(now.saved, problem.ts.size - 1))
    return (now.saved < problem.ts.size) & (sign * (now.t - next_time) >= 0)


def _at(rows: Array, index: IntScalar) -> Array:
    return jax.lax.dynamic_index_in_dim(rows, index, 0, False)


def _put(rows: Any, row: Any, index: IntScalar) -> Any:
    """Rows of arrays, or of PyTrees of them."""
    write = lambda rows, row: jax.lax.dynamic_update_index_in_dim(
        rows, jnp.asarray(row, rows.dtype), index, 0
    )
    return jax.tree.map(write, rows, row)


def _begin(method: AbstractSteps, problem: Problem, size: int | None) -> Progress:
    x, t = problem.x0, problem.t0
    zero, none = jnp.zeros((), jnp.int32), jnp.zeros_like(t)
    nts = problem.ts.size
    rows = None
    memory, note = method.start(problem.parameters, t, x)
    if problem.memory is not None:
        memory = problem.memory
    if size is not None or nts:
        room = 0 if size is None else size
        notes = lambda n: jax.tree.map(
            lambda like: jnp.zeros((n + 1, *jnp.shape(like)), like.dtype), note
        )
        rows = Rows(
            jnp.broadcast_to(t, (room + 1,)), jnp.zeros(room + 1, t.dtype),
            jnp.zeros((room + 2, x.size), x.dtype).at[0].set(x), notes(room),
            jnp.zeros(nts + 1, jnp.int32), notes(nts), jnp.broadcast_to(x, (nts + 1, x.size)),
        )  # fmt: skip
    chosen = jnp.isfinite(problem.first)
    span = jnp.abs(problem.t1 - t)
    unknown = PROBE * span
    if not method.probes:
        unknown = stop_gradient(method.first_size(problem.parameters, t, x, problem.tolerances))
        unknown = jnp.minimum(unknown, span)
    h = jnp.where(chosen, problem.first, unknown)
    h = jnp.minimum(h, problem.tolerances.longest)
    known = chosen if method.probes else jnp.asarray(True)
    return Progress(
        t, x, t, x, memory, start(h), known, zero, jnp.asarray(False), RESULTS.successful,
        Totals(zero, zero, zero, zero, zero, none, none, none), rows,
    )  # fmt: skip


def _trip(
    method: AbstractSteps, problem: Problem, sign: FloatScalar, now: Progress, equal: bool
) -> Progress:
    """One step of the method: to a time that is saved, or onward."""
    saving = _reached(now, problem, sign)
    t, x = now.t, now.x
    if equal:
        assert now.rows is not None
        number = now.rows.t.size - 1
        h = (problem.t1 - problem.t0) / number
        last = now.totals.accepted == number - 1
    else:
        remaining = sign * (problem.t1 - now.t)
        size = now.control.h
        last = size >= remaining * (1 - 1e-10)
        h = sign * jnp.where(last, remaining, size)
    if problem.ts.size:
        next_time = _at(problem.ts, jnp.minimum(now.saved, problem.ts.size - 1))
        t = jnp.where(saving, now.t_before, t)
        x = jnp.where(saving, now.x_before, x)
        h = jnp.where(saving, next_time - t, h)
    step = method.make(problem.parameters, t, h, x, now.memory)
    after = _after_trial(method, problem, sign, now, step, h, last, equal)
    if problem.ts.size == 0:
        return after
    kept = _after_saving(now, step)
    # Both have written their row where the next trip overwrites it unless it counts: no buffer has
    # to be selected.
    assert kept.rows is not None and after.rows is not None
    written = {name: getattr(kept.rows, name) for name in ("parents", "saved_note", "saved")}
    rows = after.rows._replace(**written)
    return jax.tree.map(
        lambda a, b: jnp.where(saving, a, b), kept._replace(rows=None), after._replace(rows=None)
    )._replace(rows=rows)


def _after_saving(now: Progress, step: Step) -> Progress:
    rows = now.rows
    assert rows is not None
    at = now.saved
    parent = jnp.maximum(now.totals.accepted - 1, 0)
    rows = rows._replace(
        parents=_put(rows.parents, parent, at),
        saved_note=_put(rows.saved_note, step.note, at),
        saved=_put(rows.saved, step.x1, at),
    )
    return now._replace(saved=now.saved + 1, rows=rows)


def _after_trial(
    method: AbstractSteps,
    problem: Problem,
    sign: FloatScalar,
    now: Progress,
    step: Step,
    h: FloatScalar,
    last: BoolScalar,
    equal: bool,
) -> Progress:
    """What a trial, or the probe, leads to."""
    order, tolerances = method.error_order, problem.tolerances
    size, elapsed = jnp.abs(h), sign * (now.t + h - problem.t0)
    good = step.verdict == RESULTS.successful
    error = scaled_error(tolerances, now.x, step.x1, step.error, good)
    keep, control = adapt(now.control, tolerances, method.gains, order, elapsed, size, error)
    probing = jnp.asarray(False)
    if method.probes:
        assert step.slopes is not None
        first = first_step(tolerances, order, now.x, *step.slopes, size)
        probing = ~now.probed & ~last
        keep = keep & ~probing
        control = jax.tree.map(lambda a, b: jnp.where(probing, a, b), start(first), control)
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
    count = lambda condition: jnp.where(condition, one, 0)
    residuals = method.residuals(problem.parameters, t1, step.x1)
    worst = [jnp.max(jnp.abs(r), initial=0.0) for r in residuals]
    old = (totals.max_g, totals.max_gdot, totals.max_k)
    worst = [jnp.where(keep, jnp.maximum(a, b), a) for a, b in zip(old, worst, strict=True)]
    totals = Totals(
        totals.accepted + count(keep), totals.rejected + count(~keep & ~probing),
        totals.failed + count(failed & ~probing), totals.iterations + step.iterations,
        jnp.maximum(totals.most, step.iterations), *worst,
    )  # fmt: skip
    rows = now.rows
    if rows is not None and rows.t.size > 1:
        # A rejected step is overwritten by the next.
        i = now.totals.accepted
        rows = rows._replace(
            t=_put(rows.t, now.t, i), h=_put(rows.h, h, i), note=_put(rows.note, step.note, i),
            x=_put(_put(rows.x, now.x, i), step.x1, i + 1),
        )  # fmt: skip
    scale = jnp.maximum(jnp.abs(now.t), jnp.abs(problem.t1 - problem.t0))
    smallest = UNITS * jnp.finfo(h.dtype).eps * scale
    select = lambda a, b: jnp.where(keep, a, b)
    memory = stop_gradient(jax.tree.map(select, step.memory, now.memory))
    return Progress(
        select(t1, now.t), select(step.x1, now.x), select(now.t, now.t_before),
        select(now.x, now.x_before), memory, control, jnp.asarray(True), now.saved,
        ~keep if equal else ~probing & (control.h <= smallest), step.verdict, totals, rows,
    )  # fmt: skip
