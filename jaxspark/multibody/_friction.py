r"""Dry friction in joints, by the force that each of them transmits.

A joint with friction is cut, so that its reaction `R` is one of the multipliers. With the slip `s`
of the child on the parent, in the joint, the child gets

    F = -coefficient N s / sqrt(|s|^2 + slip_width^2),   N = sqrt(|R|^2 + load_floor^2),

a force along a prismatic joint, and `radius` times it as a torque of others; the parent the
opposite.

Source: E. Pennestrì, V. Rossi, P. Salvini & P. P. Valentini, *Review and comparison of dry friction
force models*, Nonlinear Dyn. 83 (2016), on Coulomb's law and its smoothing.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._forces import dry_friction
from ._constraint import array
from ._force import force_at, torque_of, velocity_at
from ._joints import AXIS, BALL, GROUND, SHIFT, TURN
from ._reactions import about, vee
from ._rotations import products
from ._tables import joint_frames, Tables
from ._tree import Tree


KINDS: dict[tuple[tuple[str, str], ...], str] = {
    ((AXIS, TURN),): TURN,
    ((AXIS, SHIFT),): SHIFT,
    ((BALL, ""),): BALL,
}


class JointFriction:
    r"""Coulomb's friction in a revolute, spherical or prismatic joint, by its actual reaction.

        F = -coefficient N s / sqrt(|s|^2 + slip_width^2),   N = sqrt(|R|^2 + load_floor^2)

    of the slip `s` of the child on the parent and the force `R` that the joint transmits. `F` acts
    along a slide (N); `radius F` turns a pin or ball (N m). That slides may jam, and pins bend, by
    torques is left out. Of redundant constraints the load is that of the equations that are kept,
    while [`jaxspark.multibody.Results`][] have that of minimum norm. A joint that would stick
    creeps, slower than `slip_width`, and steps resolve that: where too many are needed, a wider one
    helps, tolerances do not. Frictions of one joint add up.

    The joint closes a loop: it is a constraint, and has no coordinates, damping or motor. A body
    that no other joint leads to from the ground needs a [`jaxspark.multibody.Free`][] beside it.
    A [`jaxspark.multibody.Planar`][] in its place bears what acts out of the plane, weight too, so
    that the joint's load is that in the plane alone. Systems with such friction are solved by
    `Lobatto(3)`, which is then the default. Robots of files have none: `load` takes no forces.

    **Arguments:**

    - `name`: by which its parameters are known.
    - `joint`: the name of the joint.
    - `coefficient`: of friction, a number.
    - `radius`: of the pin or ball (m); none for a prismatic joint.
    - `slip_width`: the rate over which friction changes sign (rad/s, m/s), positive. Steps must
        resolve it.
    - `load_floor`: a force far below the usual load (N), positive.

    **Raises:** `ValueError` for numbers that are not finite, negative ones, and widths of zero;
    [`jaxspark.multibody.Mechanism`][] for a joint that is not there, or of another kind.

    Source: E. Pennestrì, V. Rossi, P. Salvini & P. P. Valentini, *Review and comparison of dry
    friction force models*, Nonlinear Dyn. 83 (2016), on Coulomb's law and its smoothing.
    """

    bodies: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        joint: str,
        coefficient: Any,
        *,
        slip_width: Any,
        load_floor: Any,
        radius: Any = None,
    ):
        self.name, self.of = name, joint
        self.has_radius = radius is not None
        values = {
            "coefficient": coefficient, "slip_width": slip_width, "load_floor": load_floor,
            **({"radius": radius} if self.has_radius else {}),
        }  # fmt: skip
        self._values = {what: np.asarray(value, float) for what, value in values.items()}
        for what, value in self._values.items():
            least = np.finfo(float).tiny if what in ("slip_width", "load_floor") else 0.0
            if value.shape != () or not least <= value < np.inf:
                raise ValueError(f"{what} of {name!r} must be a positive number; got {value}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {what: array(value) for what, value in self._values.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.of!r})"


class Frictions:
    """The friction of all joints that have some.

    **Arguments:**

    - `tree`: of the mechanism, which cuts these joints; `elements`: a `JointFriction` each.

    **Raises:** `ValueError` if an element names a joint that is not there, or is of another kind.
    """

    def __init__(self, tree: Tree, elements: Sequence[JointFriction]):
        self.tree, self.elements = tree, tuple(elements)
        joints = {joint.name: number for number, joint in enumerate(tree.joints)}
        self.at, self.kinds = [], []
        for element in elements:
            if element.of not in joints:
                raise ValueError(
                    f"Friction {element.name!r} is in {element.of!r}, which is none of the joints; "
                    f"there are {sorted(joints)}."
                )
            joint = tree.joints[joints[element.of]]
            kind = KINDS.get(joint.elements)
            if kind is None:
                raise ValueError(
                    f"Friction {element.name!r} needs a Revolute, Spherical or Prismatic joint; "
                    f"{joint!r} is none."
                )
            if kind == SHIFT and element.has_radius:
                raise ValueError(f"Friction {element.name!r}: {joint!r} slides, and has no radius.")
            if kind != SHIFT and not element.has_radius:
                raise ValueError(f"Friction {element.name!r}: {joint!r} turns, and needs a radius.")
            self.at.append(joints[element.of])
            self.kinds.append(kind)

    def wrenches(
        self,
        tables: Tables,
        T: Float[Array, "n1 4 4"],
        V: Float[Array, "n1 3 4"],
        of_cut: Float[Array, "nc 3 4"],
    ) -> list[Float[Array, "3 4"]]:
        """The wrench of each element on the child of its joint; that on the parent is the opposite.

        **Arguments:**

        - `T`, `V`: of the links, the ground last.
        - `of_cut`: the wrenches on the children of joints that are cut, in the order of the loops.
        """
        P, C = joint_frames(self.tree, tables.args)
        out = []
        for element, number, kind in zip(self.elements, self.at, self.kinds, strict=True):
            joint, own = self.tree.joints[number], tables.args["forces"][element.name]
            parent, child = self.ends(number)
            a, b = (self.tree.link_of[body] for body in (parent, child))
            R = products(T[a], products(tables.frames[parent], P[number]))[:3, :3]
            x = products(T[b], products(tables.frames[child], C[number]))[:3, 3]
            load = about(of_cut[self.tree.loops.index(number)][None], x[None])[0][0]
            along = tables.args["joints"][joint.name]["axes"][2]
            axis = jnp.sum(R * along[None, :], 1) / jnp.sqrt(jnp.sum(along**2))
            D = V[b] - V[a]
            slip = velocity_at(D, x) if kind == SHIFT else vee(D[:, :3])
            slip = slip if kind == BALL else jnp.sum(axis * slip)
            widths = {what: own[what] for what in ("slip_width", "load_floor")}
            size = dry_friction(slip, load, own["coefficient"] * own.get("radius", 1.0), **widths)
            size = size if kind == BALL else size * axis
            out.append(force_at(size, x) if kind == SHIFT else torque_of(size))
        return out

    def ends(self, number: int) -> tuple[int, int]:
        """The numbers of a joint's parent and child."""
        numbers = {body.name: k for k, body in enumerate(self.tree.bodies)} | {GROUND: -1}
        joint = self.tree.joints[number]
        return numbers[joint.parent], numbers[joint.child]
