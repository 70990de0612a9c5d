r"""The derivatives of a motion of which only the end is wanted, from little that is recorded.

Of methods whose derivatives make a step again anyway, states need not be kept: the sizes of all
steps are, the states at the start of every 256th, and those of the steps since. Of a motion of
fewer steps that is all of them; else each segment is run again, from its start, when the sweep from
the last step to the first comes to it. A batch then writes and reads a few rows a lane, and not
room for `max_steps` of them, which would cost as much as all else.

Second derivatives, and those of them, are those of the motion with all its rows.

Source: A. Griewank & A. Walther, *Evaluating Derivatives*, 2nd edition, chapter 12, for
checkpoints; for the equations see `_sweeps`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar, IntScalar
from .._jax_internals import LinearMap
from ._lockstep import loop_with_rows
from ._rows import at, FewRows, put, SEGMENT
from ._steps import AbstractRepeatable
from ._sweeps import each_lane, Unknowns


class Recorded(NamedTuple):
    """What the linear map depends on.

    - `problem`: of which `again` makes all rows.
    - `rows`, `count`: what was recorded of how many steps.
    - `arrived`: whether the last of them ends at the final time.
    """

    problem: Any
    rows: FewRows
    count: IntScalar
    arrived: BoolScalar


class RepeatedSweeps:
    """The rules of the linear map from the tangents of all else to that of the end.

    **Arguments:**

    - `method`: makes steps, and their tangents and cotangents.
    - `again`: `again(recorded, lin)`, the same by all rows, which JAX can differentiate.
    """

    def __init__(self, method: AbstractRepeatable, again: Callable[[Recorded, Unknowns], Unknowns]):
        self.method = method
        self.map = LinearMap(self.forward, self.backward, None, lanes=each_lane, again=again)

    def _ends(self, given: Recorded, number: IntScalar) -> BoolScalar:
        """Whether a step ends at the final time, and its size follows from that."""
        return given.arrived & (number == given.count - 1)

    def forward(self, given: Recorded, lin: Unknowns) -> Unknowns:
        """From the first step to the last."""
        parameters = given.problem.parameters

        def body(carry):
            number, now, (dt, dx) = carry
            # As recorded, where that is known: rounding errors of one program are not another's.
            marked = at(given.rows.marks, number // SEGMENT)
            begins = number % SEGMENT == 0
            t, x = jax.tree.map(lambda a, b: jnp.where(begins, a, b), marked, now)
            h, note = at((given.rows.h, given.rows.note), number)
            dh = jnp.where(self._ends(given, number), lin.end - dt, 0)
            tangents = (lin.parameters[0], dt, dh, dx)
            end, dx1 = self.method.push_again(parameters, t, h, x, note, tangents)
            return number + 1, (t + h, end), (dt + dh, dx1)

        zero = jnp.zeros((), jnp.int32)
        start = (zero, at(given.rows.marks, zero), lin.start)
        end = jax.lax.while_loop(lambda carry: carry[0] < given.count, body, start)[2]
        return lin._replace(final=jax.tree.map(jnp.add, lin.final, end))

    def backward(self, given: Recorded, to: Unknowns) -> Unknowns:
        """From the last step to the first, with steps that are made again before."""
        count = given.count

        def body(given, state, window):
            number, known, (to_t1, to_x1), of_method, of_end = state
            parameters, rows = given.problem.parameters, given.rows
            row = number - 1
            segment = row // SEGMENT
            base = segment * SEGMENT
            # The step to be made: that of the sweep, or one whose end is not yet known.
            unknown = known < base
            step = jnp.where(unknown, base, jnp.minimum(known, row))
            stored = at(window, step - base)
            marked = at(rows.marks, segment)
            t, x = jax.tree.map(lambda a, b: jnp.where(unknown, a, b), marked, stored)
            h, note = at((rows.h, rows.note), step)
            pulls = step == row
            (to_t, to_h, to_x, of_method), x1 = self.method.pull_again(
                parameters, t, h, x, note, to_x1, of_method, pulls
            )
            window = put(window, (t, x), step - base)
            window = put(window, (t + h, x1), step - base + 1)
            known = jnp.where(pulls & (row == base), -1, jnp.maximum(known, step + 1))
            to_h = jnp.where(self._ends(given, row), to_h + to_t1, 0)
            moved = (to_t1 + to_t - to_h, to_x)
            end = jax.tree.map(lambda a, b: jnp.where(pulls, a, b), moved, (to_t1, to_x1))
            of_end = of_end + jnp.where(pulls, to_h, 0)
            return (jnp.where(pulls, row, number), known, end, of_method, of_end), window

        # A window that is full may have lost its first row to a step that failed: it is made again.
        known = jnp.where(count % SEGMENT == 0, -1, count - 1)
        of_method, of_events = to.parameters
        start = (count, known, to.final, of_method, to.end)
        (_, _, first, of_method, of_end), _ = loop_with_rows(
            lambda _, state: state[0] > 0, body, given, start, given.rows.window
        )
        return to._replace(
            start=jax.tree.map(jnp.add, to.start, first), parameters=(of_method, of_events),
            end=of_end,
        )  # fmt: skip
