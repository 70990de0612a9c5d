"""States between the recorded steps of a motion."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import FloatScalar, IntScalar, State
from .._driver import Problem, Rows, Tolerances, trajectory
from .._implicit import stop_gradient
from .._system import FlatSystem
from ._integrator import AbstractIntegrator


class Recorded(eqx.Module):
    """The rows of a motion, from each of which a shorter step leads to any time of the next step.

    - `system`, `integrator`, `parameters`: what was solved, and how.
    - `rows`: of all steps, and some that are none.
    - `count`: how many are.
    - `start`, `end`: the first and the last time.
    """

    system: FlatSystem
    integrator: AbstractIntegrator
    parameters: Any
    rows: Rows
    count: IntScalar
    start: FloatScalar
    end: FloatScalar

    def evaluate(self, t: FloatScalar) -> tuple[State, State]:
        """The state at a time, of full order and on the constraints; NaN outside the motion."""
        rows, sign = self.rows, jnp.where(self.end < self.start, -1, 1).astype(t.dtype)
        numbers = jnp.arange(rows.h.size, dtype=jnp.int32)
        # Of two that meet there the earlier one: at an event, the state before it.
        passed = (sign * rows.t[:-1] < sign * t) & (numbers < self.count)
        row = stop_gradient(jnp.maximum(jnp.sum(passed) - 1, 0))
        before, x, note = rows.t[row], rows.x[row], jax.tree.map(lambda x: x[row], rows.note)
        steps, smooth = self.integrator.steps(self.system)
        # A single step of this size, whatever its error.
        infinite, zero = jnp.full_like(t, jnp.inf), jnp.zeros_like(t)
        problem = Problem(
            before, t, x, self.parameters, None, jnp.zeros(0, t.dtype),
            stop_gradient(jnp.abs(t - before)), Tolerances(zero, infinite, infinite),
            jnp.ones((), jnp.int32), jnp.asarray(True),
            stop_gradient(steps.recalled(before, rows.h[row], x, note)),
        )  # fmt: skip
        end = trajectory((steps, smooth), None, problem, 1)
        inside = (sign * t >= sign * self.start) & (sign * t <= sign * self.end)
        found = jnp.where(inside & (end.t == t), end.x, jnp.nan)
        ny = self.system.ny
        return self.system.unravel_y(found[:ny]), self.system.unravel_z(found[ny:])
