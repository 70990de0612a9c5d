r"""A recorded motion as a differentiable function of where it starts and of what moves it.

With the sizes of the steps held constant the accepted steps are `x_{k+1} = Phi(t_k, h_k, x_k, p)`,
and a state between two of them is one more such step from the earlier one. Tangents satisfy

    dx_{k+1} - Phi_x dx_k = Phi_p dp + Phi_t dt_k + Phi_h dh_k,

a block-bidiagonal system of linear equations. Its solution is a `LinearMap`: forward mode is the
sweep over the steps from the first to the last, reverse mode that from the last to the first, both
over the recorded rows. All times move with `t0`. The last step ends at `t1`, which determines its
size; a shorter step ends at the time that is saved. Equal steps have sizes that move with `t1`, and
times that move with the sizes: there `dt_k = dt_0 + k dh`.

Source: J. M. Sanz-Serna, *Symplectic Runge-Kutta schemes for adjoint equations, automatic
differentiation, optimal control, and more*, SIAM Review 58 (2016), section 2, for discrete
adjoints.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._jax_internals import LinearMap, ruled
from ._record import Problem, Progress, record, Rows
from ._steps import AbstractSteps


class Given(NamedTuple):
    """What the equations of the tangents depend on: parameters, rows, `ts`, numbers of steps."""

    parameters: Any
    rows: Rows
    ts: Float[Array, " nts"]
    accepted: IntScalar


class Unknowns(NamedTuple):
    """Tangents, or the right-hand sides of their equations.

    - `x`, `saved`: of the states at the starts of all steps, and at the saved times.
    - `parameters`: of those that are differentiated.
    - `t`: of all times; `h`: of the size of the last step, or of all that are equal; `hs`: of the
        sizes of shorter steps, less what the time of their start moves with `h`.
    """

    x: Float[Array, "size2 n"]
    saved: Float[Array, "nts1 n"]
    parameters: Any
    t: FloatScalar
    h: FloatScalar
    hs: Float[Array, " nts1"]


class _Task(NamedTuple):
    """One step: where it starts, its size, its note; the rows of its start and its end."""

    t: FloatScalar
    h: FloatScalar
    x: Float[Array, " n"]
    note: Any
    row: IntScalar
    saves: BoolScalar
    j: IntScalar


def _at(rows: Any, index: Any) -> Any:
    """A row of arrays, or of PyTrees of them."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, index, 0, False), rows)


def _at_all(rows: Any, indices: Int[Array, " m"]) -> Any:
    return jax.tree.map(lambda x: x[indices], rows)


def _add_at(rows: Array, row: Array, index: Any) -> Array:
    return jax.lax.dynamic_update_index_in_dim(rows, _at(rows, index) + row, index, 0)


def _task(given: Given, number: IntScalar) -> _Task:
    """The steps in the order of time, then the shorter ones."""
    rows = given.rows
    saves = number >= given.accepted
    j = jnp.where(saves, number - given.accepted, 0)
    row = jnp.where(saves, _at(rows.parents, j), number)
    t, h, note = _at(rows.t, row), _at(rows.h, row), _at(rows.note, row)
    if given.ts.size:
        time = _at(given.ts, jnp.minimum(j, given.ts.size - 1))
        h = jnp.where(saves, time - t, h)
        shorter = _at(rows.saved_note, j)
        note = jax.tree.map(lambda a, b: jnp.where(saves, a, b), shorter, note)
    return _Task(t, h, _at(rows.x, row), note, row, saves, j)


class Sweeps:
    """The rules of the linear map for a method.

    **Arguments:**

    - `method`: makes steps, and their tangents and cotangents.
    - `smooth`: the same method by operations that JAX can differentiate, for second derivatives.
    - `equal`: whether all steps are of one size.
    """

    def __init__(self, method: AbstractSteps, smooth: AbstractSteps, equal: bool):
        self.method, self.smooth, self.equal = method, smooth, equal
        self.map = LinearMap(self.forward, self.backward, self.matvec, lanes=each_lane)

    def forward(self, given: Given, lin: Unknowns) -> Unknowns:
        """From the first step to the last."""

        def body(carry):
            number, x, saved = carry
            task = _task(given, number)
            moved = self.moved_of(task.row[None], lin)[0]
            moves = self.equal | (number == given.accepted - 1)
            dh = jnp.where(moves, lin.h, jnp.zeros_like(lin.h))
            dh = jnp.where(task.saves, _at(lin.hs, task.j) - moved, dh)
            tangents = (lin.parameters, lin.t + moved, dh, _at(x, task.row))
            dx = self.method.push(given.parameters, task.t, task.h, task.x, task.note, tangents)
            # What is no end of a step of this kind goes to the last row, which is no result.
            next_row = jnp.where(task.saves, x.shape[0] - 1, task.row + 1)
            j = jnp.where(task.saves, task.j, saved.shape[0] - 1)
            return number + 1, _add_at(x, dx, next_row), _add_at(saved, dx, j)

        zero = jnp.zeros((), jnp.int32)
        total = given.accepted + given.ts.size
        _, x, saved = jax.lax.while_loop(lambda c: c[0] < total, body, (zero, lin.x, lin.saved))
        return lin._replace(x=x, saved=saved)

    def moved_of(self, rows: Int[Array, " m"], lin: Unknowns) -> Float[Array, " m"]:
        """By how much the times at which steps begin move with the size of equal ones."""
        moved = rows.astype(lin.h.dtype) * lin.h
        return moved if self.equal else jnp.zeros_like(moved)

    def backward(self, given: Given, to: Unknowns) -> Unknowns:
        """From the last step to the first."""

        def body(carry):
            number, to = carry
            number = number - 1
            task = _task(given, number)
            end = jnp.where(task.saves, _at(to.saved, task.j), _at(to.x, task.row + 1))
            to_t, to_h, to_x, to_parameters = self.method.pull(
                given.parameters, task.t, task.h, task.x, task.note, end, to.parameters
            )
            zero = jnp.zeros_like(to_h)
            moves = (self.equal | (number == given.accepted - 1)) & ~task.saves
            of_h = jnp.where(moves, to_h, zero)
            if self.equal:
                at = task.row.astype(to_h.dtype)
                of_h = of_h + at * (to_t - jnp.where(task.saves, to_h, zero))
            to = Unknowns(
                _add_at(to.x, to_x, task.row), to.saved, to_parameters, to.t + to_t,
                to.h + of_h,
                _add_at(to.hs, jnp.where(task.saves, to_h, zero), task.j),
            )  # fmt: skip
            return number, to

        total = given.accepted + given.ts.size
        return jax.lax.while_loop(lambda c: c[0] > 0, body, (total, to))[1]

    def matvec(self, given: Given, unknowns: Unknowns) -> Unknowns:
        """The equations of all steps at once, for derivatives of derivatives."""
        rows, size = given.rows, given.rows.t.size
        push = lambda t, h, x, note, moved, dh, dx: self.smooth.push(
            given.parameters, t, h, x, note, (unknowns.parameters, unknowns.t + moved, dh, dx),
            bounded=True,
        )  # fmt: skip
        steps = jnp.arange(size, dtype=jnp.int32)
        on = steps < given.accepted
        # Rows that are no steps are those of the first, so that all is finite.
        row = jnp.where(on, steps, 0)
        dh = jnp.where(self.equal | (steps == given.accepted - 1), unknowns.h, 0.0)
        ends = jax.vmap(push)(
            rows.t[row], rows.h[row], rows.x[row], _at_all(rows.note, row),
            self.moved_of(row, unknowns), dh, unknowns.x[:-1],
        )  # fmt: skip
        x = unknowns.x.at[1:].add(-jnp.where(on[:, None], ends, 0))
        saved = unknowns.saved
        if given.ts.size:
            row = rows.parents[:-1]
            moved = self.moved_of(row, unknowns)
            ends = jax.vmap(push)(
                rows.t[row], given.ts - rows.t[row], rows.x[row],
                jax.tree.map(lambda x: x[:-1], rows.saved_note),
                moved, unknowns.hs[:-1] - moved, unknowns.x[row],
            )  # fmt: skip
            saved = saved.at[:-1].add(-ends)
        return unknowns._replace(x=x, saved=saved)


def each_lane(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of each lane of a batch: one after another on CPUs, else side by side.

    On a CPU a lane in a loop waits for no other, and its few numbers stay in the cache.
    """

    def call(*operands):
        return jax.lax.platform_dependent(
            *operands,
            cpu=lambda *x: jax.lax.map(lambda lane: function(*lane), x),
            default=jax.vmap(function),
        )

    return call


def trajectory(
    method: AbstractSteps,
    smooth: AbstractSteps,
    problem: Problem,
    size: int | None,
    equal: bool = False,
) -> Progress:
    """The motion, differentiable with respect to all of the problem but its tolerances.

    **Arguments:**

    - `method`, `smooth`: see `Sweeps`.
    - `problem`: what is to be solved.
    - `size`: how many steps there is room for; without room there are no derivatives.
    - `equal`: whether to make `size` steps of equal size.
    """
    sweeps = Sweeps(method, smooth, equal)

    def run(problem: Problem) -> Progress:
        return record(method, problem, size, equal)

    def tangent(problem: Problem, change: Any, now: Progress) -> Any:
        if size is None:
            raise ValueError("Derivatives need room for the steps: give max_steps.")
        return _tangents(sweeps, problem, change, now)

    return ruled(run, tangent, problem, lanes=each_lane)


def _tangents(sweeps: Sweeps, problem: Problem, change: Any, now: Progress) -> Any:
    """The tangent of the progress; `None` where there is none."""

    def filled(value: Any, tangent: Any) -> Any:
        return jnp.zeros_like(value) if tangent is None else tangent

    moving, _ = problem.parameters
    leaves, structure = jax.tree.flatten(moving)
    moved = structure.flatten_up_to(change.parameters[0])
    moved = structure.unflatten([filled(a, b) for a, b in zip(leaves, moved, strict=True)])
    dt0 = filled(problem.t0, change.t0)
    dx0 = filled(problem.x0, change.x0)
    dts = filled(problem.ts, change.ts)
    arrived = now.t == problem.t1
    rows = now.rows
    assert rows is not None
    to_end = filled(problem.t1, change.t1) - dt0
    if sweeps.equal:
        to_end = to_end / (rows.t.size - 1)
    else:
        to_end = jnp.where(arrived, to_end, jnp.zeros_like(dt0))
    lin = Unknowns(
        jnp.zeros_like(rows.x).at[0].set(dx0), jnp.zeros_like(rows.saved), moved, dt0, to_end,
        jnp.concatenate([dts - dt0, jnp.zeros_like(dt0)[None]]),
    )  # fmt: skip
    accepted = now.totals.accepted
    given = Given(problem.parameters, rows, problem.ts, accepted)
    found = sweeps.map(given, lin)
    steps = jnp.arange(rows.h.size, dtype=jnp.int32)
    moved = sweeps.moved_of(steps, lin)
    passed = sweeps.moved_of(accepted[None], lin)[0] if sweeps.equal else to_end
    moves = sweeps.equal | (steps == accepted - 1)
    nothing = jax.tree.map(lambda _: None, now)
    return nothing._replace(
        t=dt0 + passed, x=_at(found.x, accepted),
        rows=nothing.rows._replace(
            t=dt0 + moved, h=jnp.where(moves, to_end, 0.0), x=found.x, saved=found.saved,
        ),
    )  # fmt: skip
