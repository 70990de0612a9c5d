"""Between two steps: not a polynomial, but a shorter step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractLocalInterpolation

from .._custom_types import FloatScalar, State
from .._implicit import stop_gradient
from .._kkt import select_linear_solver
from .._results import RESULTS
from .._step import flat_step, interpolated_guess, Stages
from ._term import Bound, bound
from ._underlying import flat_underlying


class Frozen(eqx.Module):
    """A PyTree whose leaves are its arrays alone: everything else belongs to its structure."""

    arrays: list[Any]
    others: tuple[Any, ...] = eqx.field(static=True)
    structure: Any = eqx.field(static=True)

    @classmethod
    def of(cls, tree: Any) -> "Frozen":
        """Divide a PyTree."""
        leaves, structure = jax.tree.flatten(tree)
        arrays = [leaf if eqx.is_array(leaf) else None for leaf in leaves]
        others = tuple(None if eqx.is_array(leaf) else leaf for leaf in leaves)
        return cls(arrays, others, structure)

    def tree(self) -> Any:
        """The PyTree again."""
        pairs = zip(self.arrays, self.others, strict=True)
        leaves = [other if array is None else array for array, other in pairs]
        return jax.tree.unflatten(self.structure, leaves)


class ShorterStep(AbstractLocalInterpolation):
    """The solution inside a step, by a step of the same method from the same start.

    It has the order of the method and satisfies the constraints to rounding error, as a
    polynomial would not, at the price of a Newton iteration, which the stages of the whole step
    start close to its end. Differentiable, with respect to the time too.

    - `t0`, `t1`: the interval, as diffrax counts time.
    - `start`, `h`: the time at which it starts and its size, in the user's direction of time.
    - `y`, `z`: the state there.
    - `stages`: those of the whole step.
    - `problem`: `(system, args, method, newton, linear_solver)`.
    """

    t0: Any
    t1: Any
    start: FloatScalar
    h: FloatScalar
    y: State
    z: State
    stages: Stages
    problem: Frozen

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> Any:
        """The state `(y, z)` at `t0`, or its change from there to `t1`. NaN if Newton fails."""
        del left
        if t1 is not None:
            return jax.tree.map(jnp.subtract, self.evaluate(t1), self.evaluate(t0))
        there = self._at(t0)
        return there.system.unravel_y(there.y), there.system.unravel_z(there.z)

    def derivative(self, t0: Any, left: bool = True) -> Any:
        """`(y', z')` at `t0`, for time as diffrax counts it."""
        del left
        there = self._at(t0)
        zdot, _, _ = flat_underlying(there.system, there.t, there.y, there.z)
        ydot, forward = there.system.velocity(there.t, there.y, there.z), jnp.sign(self.h)
        return there.system.unravel_y(forward * ydot), there.system.unravel_z(forward * zdot)

    def _at(self, t: Any) -> Bound:
        """Where a step from the start to `t` ends."""
        system, args, method, newton, linear_solver = self.problem.tree()
        first = bound(system, self.start, self.y, self.z, args)
        flat, dtype = first.system, first.y.dtype
        length = jnp.asarray(self.t1 - self.t0, dtype)
        empty = length == 0
        fraction = jnp.asarray(t - self.t0, dtype) / jnp.where(empty, 1, length)
        fraction = jnp.where(empty, 0, fraction)
        h = self.h * fraction
        guess = interpolated_guess(
            flat, method.tableau, first.y, first.z, self.stages, self.h, fraction
        )
        y, z, info = flat_step(
            flat, method.tableau, linear_solver or select_linear_solver(flat),
            first.t, first.y, first.z, h, stop_gradient(guess), newton,
        )  # fmt: skip
        good = info.result == RESULTS.successful
        y, z = (jnp.where(good, x, jnp.nan) for x in (y, z))
        return Bound(first.t + h, flat, y, z)
