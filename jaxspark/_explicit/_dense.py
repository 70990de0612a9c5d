"""States between the recorded steps of an explicit method."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar, IntScalar, State
from .._driver import Problem, Tolerances, trajectory
from .._implicit import stop_gradient
from .._system import FlatSystem
from ._method import method_of, parameters_of
from ._tableau import ExplicitTableau


class Recorded(eqx.Module):
    """The rows of a motion, from each of which a shorter step leads to any time of the next step.

    - `system`: without the forces of constraints, which follow from these.
    - `times`, `states`: of the starts of all steps, and rows that are none.
    - `accepted`: how many are.
    - `start`, `end`: the first and the last time.
    """

    system: FlatSystem
    times: Float[Array, " size1"]
    states: Float[Array, "size2 n"]
    accepted: IntScalar
    start: FloatScalar
    end: FloatScalar
    tableau: ExplicitTableau = eqx.field(static=True)

    def evaluate(self, t: FloatScalar) -> tuple[State, State]:
        """The state at a time, of full order and on the constraints; NaN outside the motion."""
        sign = jnp.where(self.end < self.start, -1, 1).astype(t.dtype)
        rows = jnp.arange(self.times.size, dtype=jnp.int32)
        passed = (sign * self.times <= sign * t) & (rows < self.accepted)
        row = stop_gradient(jnp.maximum(jnp.sum(passed) - 1, 0))
        before = self.times[row]
        method, smooth = method_of(self.system, self.tableau)
        # A single step of this size, whatever its error.
        infinite = jnp.full_like(t, jnp.inf)
        problem = Problem(
            before, t, self.states[row], parameters_of(self.system), jnp.zeros(0, t.dtype),
            stop_gradient(jnp.abs(t - before)), Tolerances(infinite, infinite, infinite),
            jnp.ones((), jnp.int32), jnp.asarray(True),
        )  # fmt: skip
        x = trajectory(method, smooth, problem, 1).x
        inside = (sign * t >= sign * self.start) & (sign * t <= sign * self.end)
        x = jnp.where(inside, x, jnp.nan)
        ny = self.system.ny
        return self.system.unravel_y(x[:ny]), self.system.unravel_z(x[ny:])
