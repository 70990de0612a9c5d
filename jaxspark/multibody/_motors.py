"""Motors and controllers: forces in joints, with states of their own if need be."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._constraint import require_function


class Motor:
    """A force or torque in a joint: a function of time, the joint's motion and the parameters.

    **Arguments:**

    - `name`: of the element.
    - `joint`: the name of a joint whose elements are along axes.
    - `torque`: `torque(t, q, z, args)`, with the joint's coordinates and velocities, shapes `(k,)`:
        the forces on the child (N m, N), shape `(k,)`.
    """

    parameters: dict[str, Any] = {}
    # How many states of its own it has.
    size = 0

    def __init__(self, name: str, joint: str, torque: Any):
        self.name, self.joint, self.torque = name, joint, torque
        if not callable(torque):
            raise TypeError(f"torque of {name!r} must be a function torque(t, q, z, args).")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.joint!r})"

    def force(self, t: Any, q: Array, z: Array, s: Array, args: Any) -> Array:
        """The forces, shape `(k,)`; `s` are its own states."""
        del s
        return jnp.asarray(self.torque(t, q, z, args), q.dtype).reshape(q.shape)

    def rate(self, t: Any, q: Array, z: Array, s: Array, args: Any) -> Array:
        """The derivatives of its own states."""
        del t, q, z, args
        return s


class Controller(Motor):
    """A force or torque in a joint with states of its own: integrals, filters, currents.

    Its states are coordinates of the system, after those of the joints.

    **Arguments:**

    - `name`: of the element, and by which `state` and `coordinates` know its states.
    - `joint`: the name of a joint whose elements are along axes.
    - `torque`: `torque(t, q, z, s, args)`, with the joint's coordinates and velocities, shapes
        `(k,)`, and the own states `s`: the forces on the child (N m, N), shape `(k,)`.
    - `derivative`: `derivative(t, q, z, s, args)`, that of `s`, affine in `z`.
    - `start`: `s` at the start: a vector, or one number.

    **Raises:** `TypeError` if `torque` or `derivative` is none; `ValueError` if `start` is no
    vector of finite numbers.
    """

    def __init__(
        self,
        name: str,
        joint: str,
        torque: Any,
        derivative: Any,
        *,
        start: Any = 0.0,
    ):
        self.name, self.joint = name, joint
        self.torque = require_function(f"torque of {name!r}", torque)
        self.derivative = require_function(f"derivative of {name!r}", derivative)
        self.start = np.atleast_1d(np.asarray(start, float))
        if self.start.ndim != 1 or not np.all(np.isfinite(self.start)):
            raise ValueError(f"start of {name!r} must be a vector of finite numbers; got {start}.")
        self.size = self.start.size

    def force(self, t: Any, q: Array, z: Array, s: Array, args: Any) -> Array:
        """The forces, shape `(k,)`."""
        return jnp.asarray(self.torque(t, q, z, s, args), q.dtype).reshape(q.shape)

    def rate(self, t: Any, q: Array, z: Array, s: Array, args: Any) -> Array:
        """The derivatives of its own states."""
        return jnp.asarray(self.derivative(t, q, z, s, args), s.dtype).reshape(s.shape)
