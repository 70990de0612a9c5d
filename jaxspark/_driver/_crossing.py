"""Tangents and cotangents of steps that end at events, and of the jumps there."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from ._locate import AbstractEvents
from ._rows import at, AT_EVENT
from ._steps import AbstractSteps


class Crossing:
    """The rules of `_sweeps` where there are events; see there for the formulas.

    **Arguments:**

    - `method`, `smooth`: as there.
    - `events`: the conditions and jumps.
    """

    def __init__(self, method: AbstractSteps, smooth: AbstractSteps, events: AbstractEvents):
        self.method, self.smooth, self.events = method, smooth, events

    def _which(self, task: Any) -> tuple[IntScalar, BoolScalar, BoolScalar]:
        """The event, whether a step ends at it, whether this is its jump."""
        ends, jumps = task.kind >= AT_EVENT, task.kind < 0
        which = jnp.where(jumps, -1 - task.kind, task.kind - AT_EVENT)
        return jnp.where(ends | jumps, which, 0), ends, jumps

    def _condition(self, given: Any, task: Any, which: IntScalar) -> tuple[Any, Any]:
        """The condition of an event, of moving parameters, time and state; and its place."""
        moving, fixed = given.of_events
        rows = given.rows
        place = (moving, at(rows.t, task.row + 1), at(rows.x, task.row + 1))

        def condition(moving, t, x):
            return at(self.events.conditions((moving, fixed), t, x), which)

        return condition, place

    def _jump(self, given: Any, task: Any, which: IntScalar) -> tuple[Any, Any]:
        """The state after an event, of moving parameters, time and state; and where it was."""
        moving, fixed = given.of_events

        def jump(moving, t, x):
            return self.events.jump((moving, fixed), which, t, x)[0]

        return jump, (moving, task.t, task.x)

    def forward(
        self,
        given: Any,
        task: Any,
        dp: Any,
        dt: FloatScalar,
        dh: FloatScalar,
        dx: Float[Array, " n"],
    ) -> tuple[FloatScalar, Float[Array, " n"]]:
        """The tangents of the end of a step, or after a jump."""
        which, ends, jumps = self._which(task)
        along = (dp[0], dt, dh, dx)
        # The second, of a step that ends at an event, tells how the end moves with the size.
        longer = jax.tree.map(jnp.zeros_like, (dp[0], dt, dh, dx))
        longer = (*longer[:2], jnp.ones_like(dh), longer[3])

        def trip(carry):
            i, found = carry
            tangents = jax.tree.map(lambda a, b: jnp.where(i == 0, a, b), along, longer)
            moved = self.method.push(given.parameters, task.t, task.h, task.x, task.note, tangents)
            return i + 1, found.at[i].set(moved)

        number = jnp.where(jumps, 0, jnp.where(ends, 2, 1))
        start = (jnp.zeros((), jnp.int32), jnp.zeros((2, dx.size), dx.dtype))
        _, (X, slope) = jax.lax.while_loop(lambda c: c[0] < number, trip, start)
        end = jax.lax.cond(
            ends,
            lambda: self._ended(given, task, which, dp, dt, X, slope),
            lambda: (dt + dh, X),
        )
        return jax.lax.cond(
            jumps, lambda: (dt, self._jumped(given, task, which, dp, dt, dx)), lambda: end
        )

    def _ended(self, given, task, which, dp, dt, X, slope):
        condition, place = self._condition(given, task, which)
        change = jax.jvp(condition, place, (dp[1], dt, X))[1]
        zero = jax.tree.map(jnp.zeros_like, dp[1])
        rate = jax.jvp(condition, place, (zero, jnp.ones_like(dt), slope))[1]
        dh = -change / rate
        return dt + dh, X + dh * slope

    def _jumped(self, given, task, which, dp, dt, dx):
        jump, place = self._jump(given, task, which)
        return jax.jvp(jump, place, (dp[1], dt, dx))[1]

    def smooth_forward(self, given, task, dp, dt, dh, dx):
        """The same by operations that JAX can differentiate and transpose."""
        which, ends, jumps = self._which(task)

        def push(tangents):
            return self.smooth.push(
                given.parameters, task.t, task.h, task.x, task.note, tangents, bounded=True
            )

        X = push((dp[0], dt, dh, dx))
        zero = jax.tree.map(jnp.zeros_like, (dp[0], dt, dx))
        slope = push((*zero[:2], jnp.ones_like(dh), zero[2]))
        condition, place = self._condition(given, task, which)
        change = jax.jvp(condition, place, (dp[1], dt, X))[1]
        none = jax.tree.map(jnp.zeros_like, dp[1])
        rate = jax.jvp(condition, place, (none, jnp.ones_like(dt), slope))[1]
        there = -change / jnp.where(ends, rate, 1)
        moves = jnp.where(ends, there, dh)
        x1 = jnp.where(ends, X + there * slope, X)
        after = self._jumped(given, task, which, dp, dt, dx)
        return dt + jnp.where(jumps, 0, moves), jnp.where(jumps, after, x1)

    def backward(
        self,
        given: Any,
        task: Any,
        to_t1: FloatScalar,
        to_x1: Float[Array, " n"],
        to_parameters: Any,
    ) -> tuple[FloatScalar, FloatScalar, Float[Array, " n"], Any]:
        """The cotangents of `t`, `h` and `x`, and with theirs added the parameters."""
        which, ends, jumps = self._which(task)
        condition, place = self._condition(given, task, which)
        of_c = jax.grad(condition, (0, 1, 2))(*place)
        to_p, to_e = to_parameters
        none = jax.tree.map(jnp.zeros_like, to_p)

        def trip(carry):
            i, found = carry
            cotangent = jnp.where(i == 0, to_x1, of_c[2])
            new = self.method.pull(
                given.parameters, task.t, task.h, task.x, task.note, cotangent, none
            )
            return i + 1, jax.tree.map(lambda rows, row: rows.at[i].set(row), found, new)

        number = jnp.where(jumps, 0, jnp.where(ends, 2, 1))
        like = (to_t1, to_t1, to_x1, none)
        rows = jax.tree.map(lambda x: jnp.zeros((2, *jnp.shape(x)), x.dtype), like)
        start = (jnp.zeros((), jnp.int32), rows)
        _, found = jax.lax.while_loop(lambda c: c[0] < number, trip, start)
        (a_t, b_t), (a_h, b_h), (a_x, b_x), of_p = found
        rate = of_c[1] + b_h
        part = jnp.where(ends, (to_t1 + a_h) / jnp.where(ends, rate, 1), 0)
        to_t = a_t + to_t1 - part * (of_c[1] + b_t)
        to_h = jnp.where(ends | jumps, 0, a_h + to_t1)
        to_p = jax.tree.map(lambda p, x: p + x[0] - part * x[1], to_p, of_p)
        to_e = jax.tree.map(lambda p, c: p - part * c, to_e, of_c[0])
        to_x = a_x - part * b_x

        def jumped():
            jump, place = self._jump(given, task, which)
            of_e, of_t, of_x = jax.vjp(jump, *place)[1](to_x1)
            return to_t1 + of_t, of_x, jax.tree.map(jnp.add, to_e, of_e)

        to_t, to_x, to_e = jax.lax.cond(jumps, jumped, lambda: (to_t, to_x, to_e))
        return to_t, to_h, to_x, (to_p, to_e)
