"""Forces by functions of places and motions, and contact by a penalty."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._constraint import array, require_function
from ._distance import in_frame, point
from ._force import Force, force_at, torque_of, velocity_at
from ._joints import unit, vector
from ._shapes import Shape


class PointForce(Force):
    """A force on a body at a point.

    **Arguments:**

    - `name`: of the element.
    - `body`: on which it acts; `at`: a point in its frame (m).
    - `force`: `force(t, x, v, args)` with the point's position and velocity in the ground's frame
        (m, m/s): the force in that frame (N), shape `(3,)`.
    """

    def __init__(self, name: str, body: str, force: Any, *, at: Any = (0.0, 0, 0)):
        self.name, self.body, self.force, self.bodies = name, body, force, (body,)
        self.at = vector(f"at of {name!r}", at)
        if not callable(force):
            raise TypeError(f"force of {name!r} must be a function force(t, x, v, args).")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"at": array(self.at)}

    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """The force."""
        x = point(at[0], own["at"])
        force = self.force(t, x, velocity_at(motion[0], x), args)
        return (force_at(jnp.asarray(force, x.dtype), x),)


class BodyForce(Force):
    """Forces and torques on bodies, by a function of their places and motions.

    **Arguments:**

    - `name`: of the element.
    - `bodies`: names of bodies, or `"ground"`.
    - `function`: `function(t, at, motion, args)`, with a transform `(4, 4)` and a motion
        `[skew(w) | u]`, shape `(3, 4)`, for each body, as for
        [`jaxspark.multibody.Nonholonomic`][]: a pair of a force at the origin of the body's frame
        (N) and a torque (N m), both in the ground's axes, for each body.

    **Raises:** `TypeError` if `function` is none; `ValueError` if there are no bodies.
    """

    def __init__(self, name: str, bodies: Sequence[str], function: Any):
        if isinstance(bodies, str) or not len(bodies):
            raise ValueError(f"bodies of {name!r} must be names of bodies, as in ['crank'].")
        self.name, self.bodies = name, tuple(bodies)
        self.function = require_function(f"function of {name!r}", function)

    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """The forces and torques."""
        del own
        given = self.function(t, at, motion, args)
        if len(given) != len(self.bodies) or any(len(pair) != 2 for pair in given):
            raise ValueError(
                f"function of {self.name!r} must return a force and a torque for each of its "
                f"{len(self.bodies)} bodies."
            )
        out = []
        for T, (force, torque) in zip(at, given, strict=True):
            force, torque = (jnp.asarray(x, T.dtype).reshape(3) for x in (force, torque))
            out.append(force_at(force, T[:3, 3]) + torque_of(torque))
        return tuple(out)


class PenaltyContact(Force):
    r"""Contact of a shape with a plane, by a stiff spring that pushes where the two overlap.

    This is an approximation: the bodies overlap a little, and steps follow its stiffness. With the
    depth `d`, smoothed as `(d + sqrt(d^2 + smooth^2)) / 2`, the normal force is

        N = stiffness d^exponent (1 + damping d'),   not negative,

    and that of friction `-friction N v / sqrt(|v|^2 + slip^2)` along the plane. For impacts without
    overlap see [`jaxspark.Event`][].

    **Arguments:**

    - `name`: by which its parameters are known.
    - `parent`, `child`: names of bodies, or `"ground"`.
    - `shape`: of the child, in its axes: a [`jaxspark.multibody.Sphere`][] and the like.
    - `position`, `normal`: a point of the plane and its normal, toward the child, in the parent's
        frame (m).
    - `child_position`: the shape's origin in the child's frame (m).
    - `stiffness` (N/m^exponent), `exponent`, `damping` (s/m), `friction`.
    - `smooth`: the depth of smoothing (m); `slip`: the velocity of smoothing (m/s).

    Source: K. H. Hunt & F. R. E. Crossley, *Coefficient of restitution interpreted as damping in
    vibroimpact*, J. Applied Mechanics 42 (1975).
    """

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        shape: Any,
        *,
        stiffness: Any,
        position: Any = (0.0, 0.0, 0.0),
        normal: Any = (0.0, 0.0, 1.0),
        child_position: Any = (0.0, 0.0, 0.0),
        exponent: Any = 1.5,
        damping: Any = 0.0,
        friction: Any = 0.0,
        smooth: Any = 1e-5,
        slip: Any = 1e-3,
    ):
        if not isinstance(shape, Shape):
            raise TypeError(
                f"shape of {name!r} must be a Sphere, Disk, Torus, Ellipsoid or Convex; got "
                f"{shape!r}."
            )
        self.name, self.bodies, self.shape = name, (parent, child), shape
        self.position = vector(f"position of {name!r}", position)
        self.child_position = vector(f"child_position of {name!r}", child_position)
        self.normal = unit(f"normal of {name!r}", normal)
        self.numbers = {
            "stiffness": stiffness, "exponent": exponent, "damping": damping,
            "friction": friction, "smooth": smooth, "slip": slip,
        }  # fmt: skip
        for what, value in self.numbers.items():
            least = 0.0 if what in ("damping", "friction") else np.finfo(float).tiny
            if not (float(value) >= least and np.isfinite(value)):
                raise ValueError(f"{what} of {name!r} must be a positive number; got {value}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        names = ("position", "normal", "child_position")
        numbers = {name: array(value) for name, value in self.numbers.items()}
        return (
            {name: array(getattr(self, name)) for name in names}
            | numbers
            | {"shape": self.shape.parameters}
        )

    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """Equal and opposite forces at the lowest point of the child."""
        del t
        n = own["normal"] / jnp.sqrt(jnp.sum(own["normal"] * own["normal"]))
        R = jnp.sum(at[0][:3, :3, None] * at[1][:3, None, :3], 0)
        lowest = self.shape.farthest(-jnp.sum(R * n[:, None], 0), own["shape"], args)
        x = in_frame(at[0], point(at[1], own["child_position"])) + jnp.sum(R * lowest[None, :], 1)
        depth = jnp.sum(n * (own["position"] - x))
        soft = 0.5 * (depth + jnp.sqrt(depth**2 + own["smooth"] ** 2))
        x = point(at[0], x)
        slip = jnp.sum(at[0][:3, :3] * velocity_at(motion[1] - motion[0], x)[:, None], 0)
        away = jnp.sum(n * slip)
        slip = slip - away * n
        size = own["stiffness"] * soft ** own["exponent"]
        size = jnp.maximum(size * (1 - own["damping"] * away), jnp.zeros_like(size))
        along = slip / jnp.sqrt(jnp.sum(slip * slip) + own["slip"] ** 2)
        force = size * (n - own["friction"] * along)
        force = jnp.sum(at[0][:3, :3] * force[None, :], 1)
        return force_at(-force, x), force_at(force, x)
