"""Between two steps: not a polynomial, but a shorter step."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractLocalInterpolation

from .._custom_types import FloatScalar, State
from ._term import derivative, Point, point


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
    polynomial would not, at the price of a step. Differentiable, with respect to the time too.

    - `t0`, `t1`: the interval, as diffrax counts time.
    - `start`, `h`: the time at which it starts and its size, in the user's direction of time.
    - `y`, `z`: the state there.
    - `note`: of the whole step.
    - `problem`: `(system, args, make)`; `make(point, h, whole, note)` is the end of a step of size
        `h` from a point, next to one of the size `whole`.
    """

    t0: Any
    t1: Any
    start: FloatScalar
    h: FloatScalar
    y: State
    z: State
    note: Any
    problem: Frozen

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> Any:
        """The state `(y, z)` at `t0`, or its change from there to `t1`. NaN if the step fails."""
        del left
        if t1 is not None:
            return jax.tree.map(jnp.subtract, self.evaluate(t1), self.evaluate(t0))
        there = self._at(t0)
        return there.y, there.z

    def derivative(self, t0: Any, left: bool = True) -> Any:
        """`(y', z')` at `t0`, for time as diffrax counts it."""
        del left
        forward = jnp.sign(self.h)
        return jax.tree.map(lambda x: forward * x, derivative(self._at(t0)))

    def _at(self, t: Any) -> Point:
        """Where a step from the start to `t` ends."""
        length = jnp.asarray(self.t1 - self.t0, self.h.dtype)
        empty = length == 0
        fraction = jnp.asarray(t - self.t0, self.h.dtype) / jnp.where(empty, 1, length)
        system, args, make = self.problem.tree()
        start = point(system, self.start, self.y, self.z, args)
        h = self.h * jnp.where(empty, 0, fraction)
        y, z = _end(make, start, h, self.h, self.note)
        return Point(system, start.args, start.t + h, y, z)


@eqx.filter_jit
def _end(make: Callable[..., Any], start: Point, h: Any, whole: Any, note: Any) -> Any:
    return make(start, h, whole, note)
