r"""The derivatives of a recorded motion: linear equations, solved from step to step.

With the sizes of the steps held constant the accepted steps are `x_{k+1} = Phi(t_k, h_k, x_k, p)`,
`t_{k+1} = t_k + h_k`, and a state between two of them is one more such step from the earlier one.
Tangents satisfy

    dx_{k+1} - Phi_x dx_k = Phi_p dp + Phi_t dt_k + Phi_h dh_k,      dt_{k+1} - dt_k = dh_k,

a block-bidiagonal system of linear equations, with `dx_0` the tangent of the start, and that of the
end equal to the last `dx_k`. Its solution is a `LinearMap`: forward mode is the
sweep over the steps from the first to the last, reverse mode that from the last to the first, both
over the recorded rows. Of the sizes `dh_k` is

- 0 of steps whose size the tolerances determined,
- `dt_1 - dt_k` of one that ends at the final time `t_1`, or at a time that is saved,
- the same for all of equal steps,
- of one that ends at an event `c(t, x, p) = 0`, what keeps that: with `X` the tangent of its end
    at a constant size, `dh_k = -(c_t dt_k + c_x X + c_p dp) / (c_t + c_x Phi_h)`.

Source: J. M. Sanz-Serna, *Symplectic Runge-Kutta schemes for adjoint equations, automatic
differentiation, optimal control, and more*, SIAM Review 58 (2016), section 2, for discrete
adjoints; E. Hairer, S. P. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, II.6,
for derivatives through events.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._jax_internals import LinearMap, on_cpu
from ._crossing import Crossing
from ._locate import AbstractEvents
from ._lockstep import loop_with_rows
from ._rows import at, LAST, put, Rows
from ._steps import AbstractSteps


class Given(NamedTuple):
    """What the equations depend on: parameters, of events, too; rows, `ts`, numbers of rows.

    - `count`: of the steps; `saved`: of the states. An end may have come before some of `ts`.
    """

    parameters: Any
    of_events: Any
    rows: Rows
    ts: Float[Array, " nts"]
    count: IntScalar
    saved: IntScalar


class Unknowns(NamedTuple):
    """Tangents, or the right-hand sides of their equations.

    - `start`, `final`: of the time and the state where the motion starts, and where it ends. They
        are apart from the rows, which a gradient of the end alone then does not need.
    - `t`, `x`, `saved`: of the times and states at the starts of all steps, and of saved states.
    - `parameters`: of those that are differentiated, and of those of events.
    - `end`: of the final time; `ts`: of the saved times; `h`: of the size of equal steps.
    """

    start: tuple[FloatScalar, Float[Array, " n"]]
    final: tuple[FloatScalar, Float[Array, " n"]]
    t: Float[Array, " size2"]
    x: Float[Array, "size2 n"]
    saved: Float[Array, "nts1 n"]
    parameters: Any
    end: FloatScalar
    ts: Float[Array, " nts1"]
    h: FloatScalar


class Task(NamedTuple):
    """One step: where it starts, its size, its note; the rows of its start and its end."""

    t: FloatScalar
    h: FloatScalar
    x: Float[Array, " n"]
    note: Any
    kind: IntScalar
    row: IntScalar
    saves: BoolScalar
    j: IntScalar


def _add_at(rows: Array, row: Array, index: Any) -> Array:
    return jax.lax.dynamic_update_index_in_dim(rows, at(rows, index) + row, index, 0)


def _task(given: Given, number: IntScalar) -> Task:
    """The steps in the order of time, then the shorter ones."""
    rows = given.rows
    saves = number >= given.count
    j = jnp.where(saves, number - given.count, 0)
    row = jnp.where(saves, at(rows.parents, j), number)
    t, h, note, kind = (at(x, row) for x in (rows.t, rows.h, rows.note, rows.kind))
    if given.ts.size:
        time = at(given.ts, jnp.minimum(j, given.ts.size - 1))
        h = jnp.where(saves, time - t, h)
        shorter = at(rows.saved_note, j)
        note = jax.tree.map(lambda a, b: jnp.where(saves, a, b), shorter, note)
        kind = jnp.where(saves, LAST, kind)
    return Task(t, h, at(rows.x, row), note, kind, row, saves, j)


class Sweeps:
    """The rules of the linear map for a method.

    **Arguments:**

    - `method`: makes steps, and their tangents and cotangents.
    - `smooth`: the same method by operations that JAX can differentiate, for second derivatives.
    - `events`: what may happen between steps.
    - `equal`: whether all steps are of one size.
    """

    def __init__(
        self,
        method: AbstractSteps,
        smooth: AbstractSteps,
        events: AbstractEvents | None,
        equal: bool,
    ):
        self.method, self.smooth, self.equal = method, smooth, equal
        self.crossing = None if events is None else Crossing(method, smooth, events)
        self.map = LinearMap(self.forward, self.backward, self.matvec, lanes=each_lane)

    def _size(self, task: Task, lin: Unknowns, dt: FloatScalar) -> FloatScalar:
        """`dh` of a step, but for one that ends at an event."""
        to_end = jnp.where(task.saves, at(lin.ts, task.j), lin.end) - dt
        usual = lin.h if self.equal else jnp.zeros_like(dt)
        moves = task.saves if self.equal else task.kind == LAST
        return jnp.where(moves, to_end, usual)

    def forward(self, given: Given, lin: Unknowns) -> Unknowns:
        """From the first step to the last."""
        alone = not given.ts.size
        first = (lin.start[0] + lin.t[0], lin.start[1] + lin.x[0])

        def body(fixed, state, rows):
            given, lin = fixed
            (number, (dt, dx)), (t, x, saved) = state, rows
            task = _task(given, number)
            if not alone:
                dt, dx = at((t, x), task.row)
            dh = self._size(task, lin, dt)
            if self.crossing is not None:
                dt1, dx1 = self.crossing.forward(given, task, lin.parameters, dt, dh, dx)
            else:
                tangents = (lin.parameters[0], dt, dh, dx)
                dx1 = self.method.push(
                    given.parameters, task.t, task.h, task.x, task.note, tangents
                )
                dt1 = dt + dh
            # What is no end of a step of this kind goes to the last row, which is no result.
            next_row = jnp.where(task.saves, x.shape[0] - 1, task.row + 1)
            j = jnp.where(task.saves & (task.j < given.saved), task.j, saved.shape[0] - 1)
            end = (dt1 + at(lin.t, next_row), dx1 + at(lin.x, next_row))
            return (number + 1, end), (*put((t, x), end, next_row), _add_at(saved, dx1, j))

        zero = jnp.zeros((), jnp.int32)
        rows = (*put((lin.t, lin.x), first, zero), lin.saved)
        (_, end), (*rows, saved) = loop_with_rows(
            lambda fixed, state: state[0] < fixed[0].count + fixed[0].saved,
            body, (given, lin), (zero, first), rows,
        )  # fmt: skip
        end = end if alone else at(tuple(rows), given.count)
        final = jax.tree.map(jnp.add, lin.final, end)
        return lin._replace(final=final, t=rows[0], x=rows[1], saved=saved)

    def backward(self, given: Given, to: Unknowns) -> Unknowns:
        """From the last step to the first."""
        alone = not given.ts.size

        def body(fixed, state, rows):
            given, to = fixed
            (number, end, to_parameters, to_end, to_size), (rows, to_ts) = state, rows
            number = number - 1
            task = _task(given, number)
            to_t1, to_x1 = end if alone else at(rows, task.row + 1)
            if not alone:
                to_t1 = jnp.where(task.saves, 0, to_t1)
                to_x1 = jnp.where(task.saves, at(to.saved, task.j), to_x1)
            if self.crossing is not None:
                found = self.crossing.backward(given, task, to_t1, to_x1, to_parameters)
                to_t, to_h, to_x, to_parameters = found
            else:
                of_method, of_events = to_parameters
                to_t, to_h, to_x, of_method = self.method.pull(
                    given.parameters, task.t, task.h, task.x, task.note, to_x1, of_method
                )
                to_t, to_h, to_parameters = to_t + to_t1, to_h + to_t1, (of_method, of_events)
            zero = jnp.zeros_like(to_h)
            of_end = jnp.where(task.saves if self.equal else task.kind == LAST, to_h, zero)
            own = at(rows if not alone else (to.t, to.x), task.row)
            end = (own[0] + to_t - of_end, own[1] + to_x)
            to_ts = _add_at(to_ts, jnp.where(task.saves, of_end, zero), task.j)
            to_end = to_end + jnp.where(task.saves, zero, of_end)
            to_size = to_size + (to_h - of_end if self.equal else zero)
            return (number, end, to_parameters, to_end, to_size), (put(rows, end, task.row), to_ts)

        last = jax.tree.map(jnp.add, to.final, at((to.t, to.x), given.count))
        rows = put((to.t, to.x), last, given.count)
        total = given.count + given.saved
        # Row -1, of a lane that is done, is the last one, which is no result.
        (_, first, parameters, end, h), ((t, x), ts) = loop_with_rows(
            lambda _, state: state[0] > 0,
            body, (given, to), (total, last, to.parameters, to.end, to.h), (rows, to.ts),
        )  # fmt: skip
        first = first if alone else (t[0], x[0])
        return to._replace(
            start=jax.tree.map(jnp.add, to.start, first), t=t, x=x, parameters=parameters,
            end=end, ts=ts, h=h,
        )  # fmt: skip

    def matvec(self, given: Given, unknowns: Unknowns) -> Unknowns:
        """The equations of all steps at once, for derivatives of derivatives."""
        numbers = jnp.arange(given.rows.h.size - 1 + given.ts.size, dtype=jnp.int32)
        size = given.rows.h.size - 1
        # Rows that are no steps are those of the first, so that all is finite.
        on = (numbers < given.count) | ((numbers >= size) & (numbers < size + given.saved))
        number = jnp.where(numbers < size, numbers, numbers - size + given.count)
        number = jnp.where(on, number, 0)

        def ends(number):
            task = _task(given, number)
            dt, dx = unknowns.t[task.row], unknowns.x[task.row]
            dh = self._size(task, unknowns, dt)
            if self.crossing is not None:
                return self.crossing.smooth_forward(given, task, unknowns.parameters, dt, dh, dx)
            tangents = (unknowns.parameters[0], dt, dh, dx)
            dx1 = self.smooth.push(
                given.parameters, task.t, task.h, task.x, task.note, tangents, bounded=True
            )
            return dt + dh, dx1

        t1, x1 = jax.vmap(ends)(number)
        t1, x1 = jnp.where(on, t1, 0), jnp.where(on[:, None], x1, 0)
        saved = unknowns.saved
        if given.ts.size:
            saved = saved.at[:-1].add(-x1[size:])
        rows, (t0, x0) = (unknowns.t, unknowns.x), unknowns.start
        t = unknowns.t.at[0].add(-t0).at[1 : size + 1].add(-t1[:size])
        x = unknowns.x.at[0].add(-x0).at[1 : size + 1].add(-x1[:size])
        final = jax.tree.map(jnp.subtract, unknowns.final, at(rows, given.count))
        return unknowns._replace(final=final, t=t, x=x, saved=saved)


def each_lane(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of each lane of a batch: one after another on CPUs, else side by side.

    On a CPU a lane in a loop waits for no other, and its few numbers stay in the cache.
    """

    def in_turn(*operands):
        return jax.lax.map(lambda lane: function(*lane), operands)

    def call(*operands):
        at_once, known = jax.vmap(function), on_cpu()
        if known is None:
            return jax.lax.platform_dependent(*operands, cpu=in_turn, default=at_once)
        return (in_turn if known else at_once)(*operands)

    return call
