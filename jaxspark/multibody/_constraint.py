"""Constraints beside joints: what a function says of the places and motions of bodies."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


class Constraint:
    """What holds between bodies, or of the coordinates of one joint.

    Its classes say what. They need nothing but values: Jacobians and curvatures follow by
    differentiation of these small functions, and by the kinematics of the mechanism.

    - `name`: by which its parameters and multipliers are known.
    - `bodies`: names of bodies whose transforms `positions` and `rates` get, in this order.
    - `joint`: the name of a joint, whose coordinates they get instead; `None` for bodies.
    - `holonomic`, `nonholonomic`: whether it has equations of these kinds.
    - `rheonomic`: whether its holonomic equations may depend on time.
    """

    name: str
    bodies: tuple[str, ...] = ()
    joint: str | None = None
    holonomic: bool = True
    nonholonomic: bool = False
    rheonomic: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {}

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """What is zero of positions, shape `(rows,)`.

        **Arguments:**

        - `t`: time.
        - `at`: a transform `(4, 4)` for each of `bodies`, or the coordinates of the joint.
        - `own`: the parameters of this constraint; `args`: those of the mechanism.
        """
        raise NotImplementedError(f"{self!r} has no holonomic equations.")

    def rates(self, t: Array, at: Any, motion: Any, own: Any, args: Any) -> Array:
        """What is zero of velocities, shape `(rows,)`.

        **Arguments:** as for `positions`, and

        - `motion`: of each body `[skew(w) | u]`, shape `(3, 4)`, the velocity of its points `x` in
            the ground's frame being `w x x + u`; or the velocities of the joint.
        """
        raise NotImplementedError(f"{self!r} has no nonholonomic equations.")

    def __repr__(self) -> str:
        of = repr(self.joint) if self.joint else ", ".join(map(repr, self.bodies))
        return f"{type(self).__name__}({self.name!r}, {of})"


class Holonomic(Constraint):
    """A function of the transforms of bodies that is zero.

    **Arguments:**

    - `name`: by which its multipliers are known.
    - `bodies`: names of bodies, or `"ground"`.
    - `function`: `function(t, at, args)`, with `at` a tuple of a transform `(4, 4)` for each body,
        from its frame to that of the ground: a vector, zero where the constraint holds.

    **Raises:** `TypeError` if `function` is none; `ValueError` if there are no bodies.
    """

    def __init__(self, name: str, bodies: Sequence[str], function: Any):
        self.name, self.bodies = name, _bodies(name, bodies)
        self.function = require_function(f"function of {name!r}", function)

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """The function."""
        del own
        return jnp.atleast_1d(jnp.asarray(self.function(t, at, args), at[0].dtype))


class Nonholonomic(Constraint):
    """A function of the transforms and motions of bodies that is zero.

    **Arguments:**

    - `name`: by which its multipliers are known.
    - `bodies`: names of bodies, or `"ground"`.
    - `function`: `function(t, at, motion, args)`, with `at` a tuple of a transform `(4, 4)` for
        each body, and `motion` of its motion `[skew(w) | u]`, shape `(3, 4)`: the velocity of a
        point `x` of the body, in the ground's frame, is `w x x + u` (rad/s, m/s). It returns a
        vector, zero where the constraint holds.

    **Raises:** `TypeError` if `function` is none; `ValueError` if there are no bodies.
    """

    holonomic, nonholonomic = False, True

    def __init__(self, name: str, bodies: Sequence[str], function: Any):
        self.name, self.bodies = name, _bodies(name, bodies)
        self.function = require_function(f"function of {name!r}", function)

    def rates(self, t: Array, at: Any, motion: Any, own: Any, args: Any) -> Array:
        """The function."""
        del own
        return jnp.atleast_1d(jnp.asarray(self.function(t, at, motion, args), at[0].dtype))


def _bodies(name: str, bodies: Sequence[str]) -> tuple[str, ...]:
    if isinstance(bodies, str) or not len(bodies):
        raise ValueError(f"bodies of {name!r} must be names of bodies, as in ['ground', 'wheel'].")
    return tuple(bodies)


def require_function(what: str, function: Any) -> Callable[..., Any]:
    """The function.

    **Raises:** `TypeError` if it is none.
    """
    if not callable(function):
        raise TypeError(f"{what} must be a function; got {function!r}.")
    return function


def array(value: Any) -> Array:
    """Of numbers, with the default dtype: of a Python number it would be weakly typed."""
    return jnp.asarray(np.asarray(value, float))
