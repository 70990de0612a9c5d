"""Points at a distance from each other, and points on curves and surfaces."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._constraint import array, Constraint, require_function
from ._joints import vector


def point(T: Array, x: Array) -> Array:
    """A point in the ground's frame."""
    return jnp.sum(T[:3, :3] * x[None, :], 1) + T[:3, 3]


def in_frame(T: Array, x: Array) -> Array:
    """A point of the ground's frame, in the frame with this transform."""
    return jnp.sum(T[:3, :3] * (x - T[:3, 3])[:, None], 0)


class Distance(Constraint):
    """A rod without mass between points of two bodies, with ball joints at its ends.

    Its equation is `(|d|^2 - length^2) / (2 length) = 0`, so that the multiplier is the tension
    of the rod (N).

    **Arguments:**

    - `name`: by which its parameters and its multiplier are known.
    - `first`, `second`: names of bodies, or `"ground"`.
    - `at_first`, `at_second`: points in their frames (m).
    - `length`: (m), not zero.

    **Raises:** `ValueError` if the length is not positive.
    """

    rheonomic = False

    def __init__(
        self,
        name: str,
        first: str,
        second: str,
        *,
        length: Any,
        at_first: Any = (0.0, 0.0, 0.0),
        at_second: Any = (0.0, 0.0, 0.0),
    ):
        self.name, self.bodies = name, (first, second)
        self.at_first = vector(f"at_first of {name!r}", at_first)
        self.at_second = vector(f"at_second of {name!r}", at_second)
        self.length = float(length)
        if not 0 < self.length < np.inf:
            raise ValueError(
                f"length of {name!r} must be positive; points that meet are joined by Spherical."
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {x: array(getattr(self, x)) for x in ("at_first", "at_second", "length")}

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """The distance, against the length."""
        del t, args
        d = point(at[1], own["at_second"]) - point(at[0], own["at_first"])
        length = own["length"]
        return ((jnp.sum(d * d) - length**2) / (2 * length))[None]


class PointOnSurface(Constraint):
    """A point of the child on a surface or curve of the parent, given by a function.

    **Arguments:**

    - `name`: by which its parameters and multipliers are known.
    - `parent`, `child`: names of bodies, or `"ground"`.
    - `function`: `function(x, args)`, with a point `x` in the parent's frame (m), shape `(3,)`:
        zero on the surface. A vector of two numbers gives a curve.
    - `at`: the point in the child's frame (m).

    **Raises:** `TypeError` if `function` is none.
    """

    rheonomic = False

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        function: Any,
        *,
        at: Any = (0.0, 0.0, 0.0),
    ):
        self.name, self.bodies = name, (parent, child)
        self.function = require_function(f"function of {name!r}", function)
        self.at = vector(f"at of {name!r}", at)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"at": array(self.at)}

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """The function at the point."""
        del t
        x = in_frame(at[0], point(at[1], own["at"]))
        return jnp.atleast_1d(jnp.asarray(self.function(x, args), x.dtype))
