"""Prescribed motion: coordinates or velocities of a joint as functions of time."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ._constraint import Constraint, require_function


class Prescribed(Constraint):
    """The coordinates of a joint are a function of time: a rheonomic constraint.

    Its multipliers are the forces or torques that the drive needs, with the opposite sign. The
    function must be twice differentiable.

    **Arguments:**

    - `name`: by which its multipliers are known.
    - `joint`: the name of a joint that no loop cuts.
    - `motion`: `motion(t, args)`: its coordinates, shape `(k,)` or one number (rad, m); of a
        spherical joint a quaternion, of a free one a position and a quaternion.

    **Raises:** `TypeError` if `motion` is none.
    """

    def __init__(self, name: str, joint: str, motion: Any):
        self.name, self.joint = name, joint
        self.motion = require_function(f"motion of {name!r}", motion)

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """The coordinates less those wanted; of quaternions what leads from one to the other."""
        del own
        wanted = jnp.asarray(self.motion(t, args), at.dtype).reshape(-1)
        if wanted.shape != at.shape:
            raise ValueError(
                f"motion of {self.name!r} gives {wanted.size} numbers; joint {self.joint!r} has "
                f"{at.size} coordinates."
            )
        if at.size not in (4, 7):
            return at - wanted
        shifts = at.size - 4
        q, r = at[shifts:], wanted[shifts:]
        # The vector part of r^-1 q, twice: for small angles the rotation vector.
        turned = r[0] * q[1:] - q[0] * r[1:] - jnp.cross(r[1:], q[1:])
        size = jnp.sqrt(jnp.sum(q * q) * jnp.sum(r * r))
        return jnp.concatenate([at[:shifts] - wanted[:shifts], 2 * turned / size])


class PrescribedVelocity(Constraint):
    """The velocities of a joint are a function of time and of its coordinates.

    **Arguments:**

    - `name`: by which its multipliers are known.
    - `joint`: the name of a joint that no loop cuts.
    - `velocity`: `velocity(t, q, args)`, with the joint's coordinates: its velocities, shape
        `(k,)` or one number (rad/s, m/s).

    **Raises:** `TypeError` if `velocity` is none.
    """

    holonomic, nonholonomic = False, True

    def __init__(self, name: str, joint: str, velocity: Any):
        self.name, self.joint = name, joint
        self.velocity = require_function(f"velocity of {name!r}", velocity)

    def rates(self, t: Array, at: Any, motion: Any, own: Any, args: Any) -> Array:
        """The velocities less those wanted."""
        del own
        wanted = jnp.asarray(self.velocity(t, at, args), at.dtype).reshape(-1)
        if wanted.shape != motion.shape:
            raise ValueError(
                f"velocity of {self.name!r} gives {wanted.size} numbers; joint {self.joint!r} has "
                f"{motion.size} velocities."
            )
        return motion - wanted
