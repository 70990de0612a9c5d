r"""Rolling without slipping, and knife edges.

A shape of the child touches a plane or surface of the parent at `x`, where its outward normal is
the opposite of the normal `n` there:

    0 = n . (x - o)                   it touches,
    0 = t_1 . D x = t_2 . D x         it does not slip,

with the relative motion `D = V_b - V_a`. The derivative of the first is `n . D x = 0`: with all
three the point of the child in contact does not move in the frame of the parent.

Source: J. I. Neimark & N. A. Fufaev, *Dynamics of Nonholonomic Systems*, chapter I, sections 5 and
8; E. J. Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, section 9.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ._constraint import array, Constraint, require_function
from ._distance import in_frame, point
from ._joints import unit, vector
from ._rotations import transform
from ._shapes import root, Shape


class Rolling(Constraint):
    """A shape of the child rolls on a plane or surface of the parent, and stays in contact.

    **Arguments:**

    - `name`: by which its parameters and multipliers are known: that of its one holonomic equation
        is the normal force (N), those of the others are forces along the surface on the child, all
        with the opposite sign. `mechanism.results` has them in known axes.
    - `parent`, `child`: names of bodies, or `"ground"`.
    - `shape`: of the child: a [`jaxspark.multibody.Sphere`][], [`jaxspark.multibody.Disk`][],
        [`jaxspark.multibody.Torus`][], [`jaxspark.multibody.Ellipsoid`][] or
        [`jaxspark.multibody.Convex`][].
    - `position`, `normal`: a point of the plane and its normal, toward the child, in the parent's
        frame (m).
    - `surface`: in place of a plane `surface(x, args)` of a point in the parent's frame (m), shape
        `(3,)`: zero on the surface, positive on the side of the child.
    - `child_position`: the shape's origin in the child's frame (m); its axes are the child's.
    - `slips`: whether it slides without friction in place of rolling.

    **Raises:** `TypeError` if `shape` or `surface` is none.
    """

    nonholonomic, rheonomic = True, False

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        shape: Any,
        *,
        position: Any = (0.0, 0.0, 0.0),
        normal: Any = (0.0, 0.0, 1.0),
        surface: Any = None,
        child_position: Any = (0.0, 0.0, 0.0),
        slips: bool = False,
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
        self.surface = surface
        if surface is not None:
            require_function(f"surface of {name!r}", surface)
        self.nonholonomic = not slips

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        names = ("child_position",) if self.surface else ("position", "normal", "child_position")
        return {x: array(getattr(self, x)) for x in names} | {"shape": self.shape.parameters}

    def _support(self, R: Array, direction: Array, own: Any, args: Any) -> Array:
        """The farthest point of the child in a direction of the parent's frame, from its origin."""
        local = jnp.sum(R * direction[:, None], 0)
        return jnp.sum(R * self.shape.farthest(local, own["shape"], args)[None, :], 1)

    def contact(self, at: Any, own: Any, args: Any) -> tuple[Array, Array, Array]:
        """The point of the child, the gap and the normal there, in the parent's frame.

        **Arguments:** as for `positions`.
        """
        R = jnp.sum(at[0][:3, :3, None] * at[1][:3, None, :3], 0)
        origin = in_frame(at[0], point(at[1], own["child_position"]))
        if self.surface is None:
            n = _normalised(own["normal"])
            x = origin + self._support(R, -n, own, args)
            return x, jnp.sum(n * (x - own["position"])), n
        normal = lambda x: _normalised(jax.grad(lambda x: self._value(x, args))(x))

        def equations(unknown):
            x, s = unknown[:3], unknown[3]
            n = normal(x)
            apart = origin + self._support(R, -n, own, args) - x
            return jnp.append(apart - s * n, self._value(x, args))

        near = origin
        for _ in range(3):
            slope = jax.grad(lambda x: self._value(x, args))(near)
            near = near - self._value(near, args) * slope / jnp.sum(slope * slope)
        found = root(equations, jnp.append(near, jnp.zeros((), near.dtype)))
        n = normal(found[:3])
        return found[:3] + found[3] * n, found[3], n

    def _value(self, x: Array, args: Any) -> Array:
        assert self.surface is not None
        return jnp.asarray(self.surface(x, args), x.dtype).reshape(())

    def positions(self, t: Array, at: Any, own: Any, args: Any) -> Array:
        """The gap (m)."""
        del t
        return self.contact(at, own, args)[1][None]

    def rates(self, t: Array, at: Any, motion: Any, own: Any, args: Any) -> Array:
        """The velocity of slip along two directions of the surface (m/s)."""
        del t
        x, _, n = self.contact(at, own, args)
        x = point(at[0], x)
        slip = jnp.sum((motion[1] - motion[0]) * jnp.append(x, jnp.ones_like(x[:1]))[None, :], 1)
        slip = jnp.sum(at[0][:3, :3] * slip[:, None], 0)
        first, second = tangents(n)
        return jnp.stack([jnp.sum(first * slip), jnp.sum(second * slip)])


def _normalised(x: Array) -> Array:
    return x / jnp.sqrt(jnp.sum(x * x))


def tangents(n: Array) -> tuple[Array, Array]:
    """Two unit vectors perpendicular to a third, smooth but where it passes `-e_3` or a switch.

    Source: T. Duff et al., *Building an orthonormal basis, revisited*, JCGT 6 (2017).
    """
    sign = jnp.where(n[2] < 0, -1.0, 1.0).astype(n.dtype)
    a = -1 / (sign + n[2])
    b = n[0] * n[1] * a
    first = jnp.stack([1 + sign * n[0] ** 2 * a, sign * b, -sign * n[0]])
    return first, jnp.stack([b, sign + n[1] ** 2 * a, -n[1]])


class KnifeEdge(Constraint):
    """A point of the child does not move across an edge: that of a skate, a blade or a thin wheel.

    **Arguments:**

    - `name`: by which its parameters and its multiplier are known.
    - `parent`, `child`: names of bodies, or `"ground"`.
    - `across`: the direction in the child's frame in which its point does not move in the parent.
    - `at`: the point in the child's frame (m).
    """

    holonomic, nonholonomic = False, True

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        across: Any = (0.0, 1.0, 0.0),
        at: Any = (0.0, 0.0, 0.0),
    ):
        self.name, self.bodies = name, (parent, child)
        self.across = unit(f"across of {name!r}", across)
        self.at = vector(f"at of {name!r}", at)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"across": array(self.across), "at": array(self.at)}

    def rates(self, t: Array, at: Any, motion: Any, own: Any, args: Any) -> Array:
        """The velocity across the edge (m/s)."""
        del t, args
        T = transform(at[1][:3, :3], point(at[1], own["at"]))
        x = jnp.append(T[:3, 3], jnp.ones_like(T[:1, 0]))
        velocity = jnp.sum((motion[1] - motion[0]) * x[None, :], 1)
        across = jnp.sum(T[:3, :3] * own["across"][None, :], 1)
        return jnp.sum(across * velocity)[None]
