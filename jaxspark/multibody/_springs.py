"""Springs and dampers between points, and bushings between frames."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._constraint import array
from ._distance import point
from ._force import Force, force_at, torque_of, velocity_at
from ._joints import quaternion, vector
from ._rotations import products, rotation, skew, transform


class Spring(Force):
    """A spring and a damper between points of two bodies.

    The tension is `stiffness (distance - length) + damping (rate of the distance)`, or
    `law(distance, rate, args)`. The points must not meet: the force would have no direction, and a
    solve fails there.

    **Arguments:**

    - `name`: by which its parameters are known.
    - `first`, `second`: names of bodies, or `"ground"`.
    - `at_first`, `at_second`: points in their frames (m).
    - `stiffness` (N/m), `length` without tension (m), `damping` (N s/m).
    - `law`: a function that returns the tension (N) in place of these.
    """

    def __init__(
        self,
        name: str,
        first: str,
        second: str,
        *,
        at_first: Any = (0.0, 0.0, 0.0),
        at_second: Any = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        length: float = 0.0,
        damping: float = 0.0,
        law: Callable[..., Any] | None = None,
    ):
        self.name, self.first, self.second, self.law = name, first, second, law
        self.bodies = (first, second)
        self.at_first = vector(f"at_first of {name!r}", at_first)
        self.at_second = vector(f"at_second of {name!r}", at_second)
        self.stiffness, self.length, self.damping = float(stiffness), float(length), float(damping)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        names = ("at_first", "at_second", "stiffness", "length", "damping")
        return {name: array(getattr(self, name)) for name in names}

    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """Equal and opposite forces along the line between the points."""
        del t
        x, y = point(at[0], own["at_first"]), point(at[1], own["at_second"])
        apart = y - x
        distance = jnp.sqrt(jnp.sum(apart * apart))
        rate = jnp.sum(apart * (velocity_at(motion[1], y) - velocity_at(motion[0], x))) / distance
        if self.law is not None:
            tension = self.law(distance, rate, args)
        else:
            tension = own["stiffness"] * (distance - own["length"]) + own["damping"] * rate
        force = tension * apart / distance
        return force_at(force, x), force_at(-force, y)

    def energy(self, at: Any, own: Any) -> Array:
        """Of a linear spring; 0 of one with a law of its own."""
        if self.law is not None:
            return jnp.zeros((), at[0].dtype)
        apart = point(at[1], own["at_second"]) - point(at[0], own["at_first"])
        longer = jnp.sqrt(jnp.sum(apart * apart)) - own["length"]
        return 0.5 * own["stiffness"] * longer**2


class Bushing(Force):
    """Springs and dampers in all six directions between frames on two bodies.

    With the position `d` and the rotation vector `phi` of the second frame in the first, the energy
    is half of `sum stiffness (d, phi)^2`. Turns must stay below half a revolution.

    **Arguments:**

    - `name`: by which its parameters are known.
    - `first`, `second`: names of bodies, or `"ground"`.
    - `position`, `quaternion`: the frame on the first body, in its frame (m).
    - `second_position`, `second_quaternion`: the frame on the second.
    - `stiffness`, `damping`: along the axes of the first frame (N/m, N s/m) and about them
        (N m/rad, N m s/rad): six numbers, or one of each kind as `(along, about)`.

    **Raises:** `ValueError` for vectors and quaternions that are none.

    Source: E. J. Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, section
    11.3, with torques as derivatives of the energy.
    """

    def __init__(
        self,
        name: str,
        first: str,
        second: str,
        *,
        position: Any = (0.0, 0.0, 0.0),
        quaternion: Any = (1.0, 0.0, 0.0, 0.0),
        second_position: Any = (0.0, 0.0, 0.0),
        second_quaternion: Any = (1.0, 0.0, 0.0, 0.0),
        stiffness: Any = (0.0, 0.0),
        damping: Any = (0.0, 0.0),
    ):
        self.name, self.bodies = name, (first, second)
        self.position = vector(f"position of {name!r}", position)
        self.quaternion = _quaternion(f"quaternion of {name!r}", quaternion)
        self.second_position = vector(f"second_position of {name!r}", second_position)
        self.second_quaternion = _quaternion(f"second_quaternion of {name!r}", second_quaternion)
        self.stiffness = _six(f"stiffness of {name!r}", stiffness)
        self.damping = _six(f"damping of {name!r}", damping)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        names = (
            "position", "quaternion", "second_position", "second_quaternion", "stiffness", "damping"
        )  # fmt: skip
        return {name: array(getattr(self, name)) for name in names}

    @staticmethod
    def _apart(at: Any, own: Any) -> tuple[Array, Array, Array, Array]:
        """The first frame's axes, the second's origin, `d`, and the relative rotation."""
        first = _frame(at[0], own["position"], own["quaternion"])
        second = _frame(at[1], own["second_position"], own["second_quaternion"])
        R = first[:3, :3]
        d = jnp.sum(R * (second[:3, 3] - first[:3, 3])[:, None], 0)
        return R, second[:3, 3], d, jnp.sum(R[:, :, None] * second[:3, None, :3], 0)

    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """Equal and opposite wrenches."""
        del t, args
        R, x, d, turned = self._apart(at, own)
        relative = motion[1] - motion[0]
        rate = jnp.sum(R * velocity_at(relative, x)[:, None], 0)
        w = jnp.stack([relative[2, 1], relative[0, 2], relative[1, 0]])
        w = jnp.sum(R * w[:, None], 0)
        k, c = own["stiffness"], own["damping"]
        force = k[:3] * d + c[:3] * rate
        # The derivative of the rotation vector by a small turn in the axes of the first frame.
        vector_of = lambda small: rotation_vector(turned + products(skew(small), turned))
        phi, pulled = jax.vjp(vector_of, jnp.zeros_like(w))
        torque = pulled(k[3:] * phi)[0] + c[3:] * w
        to_ground = lambda v: jnp.sum(R * v[None, :], 1)
        on_first = force_at(to_ground(force), x) + torque_of(to_ground(torque))
        return on_first, -on_first

    def energy(self, at: Any, own: Any) -> Array:
        """Of the springs."""
        _, _, d, turned = self._apart(at, own)
        return 0.5 * jnp.sum(own["stiffness"] * jnp.append(d, rotation_vector(turned)) ** 2)


_quaternion = quaternion


def _frame(T: Array, position: Array, turn: Array) -> Array:
    return products(T, transform(rotation(turn), position))


def _six(name: str, value: Any) -> np.ndarray:
    numbers = np.asarray(value, float)
    if numbers.shape == (2,):
        numbers = np.repeat(numbers, 3)
    if numbers.shape != (6,) or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} must be six finite numbers, or two; got {value}.")
    return numbers


def rotation_vector(R: Float[Array, "3 3"]) -> Float[Array, " 3"]:
    """The axis of a rotation times its angle, which is below half a revolution.

    Source: R. M. Murray, Z. Li & S. S. Sastry, *A Mathematical Introduction to Robotic
    Manipulation*, equation (2.17).
    """
    sine = 0.5 * jnp.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1)
    square = jnp.sum(sine * sine)
    # Below this the series is exact to rounding, and so are its derivatives to the second.
    small = (square < 100 * jnp.finfo(R.dtype).eps ** 0.5) & (cosine > 0)
    size = jnp.sqrt(jnp.where(small, 1, square))
    ratio = jnp.arctan2(size, cosine) / size
    series = 1 + square * (1 / 6 + square * (3 / 40 + square * (5 / 112 + square * 35 / 1152)))
    return jnp.where(small, series, ratio) * sine
