"""Shapes that roll: the point of each that is farthest in a direction.

Of a convex shape this is the point whose outward normal is the direction, and so where it touches a
plane with the opposite normal.

Source: R. T. Rockafellar, *Convex Analysis*, section 13: the point is the gradient of the support
function.
"""

import abc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._constraint import array, require_function
from ._joints import unit


class Shape(abc.ABC):
    """A convex shape, in a frame of its own."""

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {}

    @abc.abstractmethod
    def farthest(self, direction: Float[Array, " 3"], own: Any, args: Any) -> Float[Array, " 3"]:
        """The point that is farthest in a direction of unit length (m).

        **Arguments:**

        - `direction`: in the shape's frame.
        - `own`: the shape's parameters; `args`: those of the mechanism.
        """


def _positive(what: str, value: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
    numbers = np.asarray(value, float)
    if numbers.shape != shape or not np.all(numbers > 0) or not np.all(np.isfinite(numbers)):
        count = f"{shape[0]} positive numbers" if shape else "a positive number"
        raise ValueError(f"{what} must be {count}; got {value}.")
    return numbers


class Sphere(Shape):
    """A sphere about the origin.

    **Arguments:**

    - `radius`: (m).
    """

    def __init__(self, radius: Any):
        self.radius = _positive("radius", radius)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"radius": array(self.radius)}

    def farthest(self, direction: Array, own: Any, args: Any) -> Array:
        """`radius direction`."""
        del args
        return own["radius"] * direction


class Torus(Shape):
    """A tyre about the origin; a thin disk where its tube has no radius.

    **Arguments:**

    - `radius`: of the circle in the middle of the tube (m).
    - `tube`: the radius of the tube (m), 0 for a disk.
    - `axis`: of the wheel.
    """

    def __init__(self, radius: Any, tube: Any = 0.0, *, axis: Any = (0.0, 0.0, 1.0)):
        self.radius, self.axis = _positive("radius", radius), unit("axis", axis)
        self.tube = np.asarray(tube, float)
        if not (self.tube.shape == () and 0 <= float(self.tube) < np.inf):
            raise ValueError(f"tube must be a number, not negative; got {tube}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {name: array(getattr(self, name)) for name in ("radius", "tube", "axis")}

    def farthest(self, direction: Array, own: Any, args: Any) -> Array:
        """On the circle first, and from there in the direction.

        Where the direction is that of the axis the wheel lies flat: all of the circle is as far,
        and its middle is taken, where nothing can roll.
        """
        del args
        axis = own["axis"] / jnp.sqrt(jnp.sum(own["axis"] * own["axis"]))
        across = direction - jnp.sum(direction * axis) * axis
        across = across / jnp.sqrt(jnp.sum(across * across) + FLAT)
        return own["radius"] * across + own["tube"] * direction


class Disk(Torus):
    """A thin disk about the origin, that touches with its edge.

    **Arguments:**

    - `radius`: (m); `axis`: of the disk.
    """

    def __init__(self, radius: Any, *, axis: Any = (0.0, 0.0, 1.0)):
        super().__init__(radius, axis=axis)


class Ellipsoid(Shape):
    """An ellipsoid about the origin.

    **Arguments:**

    - `semiaxes`: along the axes of the frame (m), shape `(3,)`.
    """

    def __init__(self, semiaxes: Any):
        self.semiaxes = _positive("semiaxes", semiaxes, (3,))

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"semiaxes": array(self.semiaxes)}

    def farthest(self, direction: Array, own: Any, args: Any) -> Array:
        """`A^2 d / |A d|`."""
        del args
        scaled = own["semiaxes"] * direction
        return own["semiaxes"] * scaled / jnp.sqrt(jnp.sum(scaled * scaled))


class Convex(Shape):
    """A strictly convex shape about the origin, given by a function.

    **Arguments:**

    - `function`: `function(x, args)` of a point in the shape's frame (m), shape `(3,)`: negative
        inside, zero on the surface, with a gradient that does not vanish there.
    - `size`: about how large the shape is (m).

    **Raises:** `TypeError` if `function` is none; `ValueError` for a size that is not positive.
    """

    def __init__(self, function: Any, *, size: Any):
        self.function = require_function("function", function)
        self.size = float(_positive("size", size))

    def farthest(self, direction: Array, own: Any, args: Any) -> Array:
        """Where the gradient has this direction, by Newton's iteration along and across it."""
        del own

        def equations(unknown):
            x, s = unknown[:3], unknown[3]
            gradient = jax.grad(lambda x: self._value(x, args))(x)
            return jnp.append(gradient - s * direction, self._value(x, args))

        x = self.size * direction
        slope = jnp.sum(jax.grad(lambda x: self._value(x, args))(x) * direction)
        return root(equations, jnp.append(x, slope))[:3]

    def _value(self, x: Array, args: Any) -> Array:
        return jnp.asarray(self.function(x, args), x.dtype).reshape(())


# Of the square of a sine, so small that it counts only where that is zero.
FLAT = 1e-30
# Newton's iterations and halvings of a step at most; how small residuals are, in roundings.
MOST, HALVINGS, ROUNDINGS = 60, 20, 64


def root(function: Callable[[Array], Array], start: Float[Array, " n"]) -> Float[Array, " n"]:
    """A zero of a function of a few unknowns, which can be differentiated; NaN if none is found.

    Newton's iteration with steps that are halved until the residual falls; derivatives are those of
    the implicit function.
    """

    def solve(f, start):
        size = lambda x: jnp.max(jnp.abs(f(x)))
        least = ROUNDINGS * jnp.finfo(start.dtype).eps

        def step(state):
            count, x, _ = state
            dx = -jnp.linalg.solve(jax.jacfwd(f)(x), f(x))
            now = size(x)

            def halve(trial):
                k, shorter = trial
                return k + 1, 0.5 * shorter

            def too_long(trial):
                k, shorter = trial
                return (k < HALVINGS) & ~(size(x + shorter * dx) < now)

            one = jnp.ones((), x.dtype)
            _, shorter = jax.lax.while_loop(too_long, halve, (jnp.zeros((), int), one))
            better = size(x + shorter * dx) < now
            x = jnp.where(better, x + shorter * dx, x)
            return count + 1, x, better

        def unfinished(state):
            count, _, better = state
            return better & (count < MOST)

        first = (jnp.zeros((), int), start, jnp.ones((), bool))
        _, x, _ = jax.lax.while_loop(unfinished, step, first)
        scale = 1 + jnp.max(jnp.abs(jax.jacfwd(f)(x))) * jnp.max(jnp.abs(x))
        return jnp.where(size(x) <= least * scale, x, jnp.nan)

    def tangent(g, y):
        return jnp.linalg.solve(jax.jacfwd(g)(jnp.zeros_like(y)), y)

    return jax.lax.custom_root(function, start, solve, tangent)
