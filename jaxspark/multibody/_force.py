"""What force elements are: wrenches on bodies, as functions of their places and motions.

A wrench is a matrix `sum f [x, 1]^T`, shape `(3, 4)`, of forces `f` at points `x` in the axes of
the ground, and `[skew(torque) / 2 | 0]` of a torque: its sum of products with a motion is its
power.
"""

import abc
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._rotations import skew


class Force(abc.ABC):
    """A force element between bodies.

    - `name`: by which its parameters are known.
    - `bodies`: on which it acts.
    """

    name: str
    bodies: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {}

    @abc.abstractmethod
    def wrenches(
        self, t: Any, at: Any, motion: Any, own: Any, args: Any
    ) -> tuple[Float[Array, "3 4"], ...]:
        """The wrench on each of the bodies.

        **Arguments:**

        - `t`: time.
        - `at`: the transform `(4, 4)` of each of `bodies`; `motion`: `[skew(w) | u]`, `(3, 4)`.
        - `own`: the parameters of this element; `args`: those of the mechanism.
        """

    def energy(self, at: Any, own: Any) -> Array:
        """What it has stored (J); 0 where it has no potential, or where that is not known."""
        del own
        return jnp.zeros((), at[0].dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {', '.join(map(repr, self.bodies))})"


def force_at(force: Float[Array, " 3"], point: Float[Array, " 3"]) -> Float[Array, "3 4"]:
    """The wrench of a force at a point."""
    return force[:, None] * jnp.append(point, jnp.ones_like(point[:1]))[None, :]


def torque_of(torque: Float[Array, " 3"]) -> Float[Array, "3 4"]:
    """The wrench of a torque."""
    return jnp.concatenate([0.5 * skew(torque), jnp.zeros((3, 1), torque.dtype)], 1)


def velocity_at(motion: Float[Array, "3 4"], point: Float[Array, " 3"]) -> Float[Array, " 3"]:
    """Of a body's point."""
    return jnp.sum(motion[:, :3] * point[None, :], 1) + motion[:, 3]
