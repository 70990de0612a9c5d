"""Equal joints and elements of a mechanism in groups, for equations between pairs of bodies."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._system import ForceElement, Joint as Connection, RollingJoint
from ._bodies import entry
from ._bodies_parts import along_axes, closes, generalised, motion, pose, relative, shifted
from ._constraint import Constraint
from ._force import Force
from ._joints import AXIS, Joint, rows
from ._motors import Motor
from ._relative import joint_motion
from ._rotations import rotation, transform
from ._tree import Tree


class Prepared(NamedTuple):
    """What is constant while the bodies move.

    - `bodies`: mass, centre of mass and inertia, one row for each; `joints`: of each group.
    - `elements`: of each group of force elements and constraints.
    - `gravity`: (m/s^2); `args`: as the user gave them.
    """

    bodies: Any
    joints: Any
    elements: Any
    gravity: Float[Array, " 3"]
    args: Any


class Parts:
    """Equal joints and elements in groups: one function and many pairs of bodies for each."""

    def __init__(self, tree: Tree, numbers: Mapping[str, int]):
        self.tree, self.numbers = tree, numbers
        self.of_joints: list[list[Joint]] = []
        self.of_elements: list[tuple[str, list[Any]]] = []

    def _pairs(self, group: Sequence[Joint]) -> tuple[tuple[int, int], ...]:
        return tuple((self.numbers[x.parent], self.numbers[x.child]) for x in group)

    def joints(self, closing: Mapping[str, np.ndarray]) -> list[Connection]:
        """The rows of all joints."""
        groups: dict[Any, list[Joint]] = {}
        for joint in self.tree.joints:
            if rows(joint) and len(closing.get(joint.name, rows(joint))):
                combined = closing.get(joint.name)
                key = tuple(rows(joint)), None if combined is None else combined.tobytes()
                groups.setdefault(key, []).append(joint)
        out = []
        for (of, _), group in groups.items():
            at, kept = len(self.of_joints), closing.get(group[0].name)
            self.of_joints.append(group)

            def function(t, a, b, own, args, of=of, kept=kept):
                del args
                values = closes(of, t, a, b, own)
                if kept is None:
                    return values
                return jnp.sum(jnp.asarray(kept, values.dtype) * values[None, :], 1)

            own = lambda args, at=at: args.joints[at]
            out.append(Connection(function, self._pairs(group), own, _name(group)))
        return out

    def in_joints(self, motors: Sequence[Motor]) -> list[ForceElement]:
        """Damping and springs in joints, and motors."""
        out = []
        groups: dict[Any, list[Joint]] = {}
        for joint in self.tree.joints:
            if np.any(joint.damping) or np.any(joint.stiffness):
                groups.setdefault(type(joint), []).append(joint)
        for group in groups.values():
            out.append(self._in_joints(group, None))
        by_name = {joint.name: joint for joint in self.tree.joints}
        for motor in motors:
            if motor.joint not in by_name or not by_name[motor.joint].elements:
                raise ValueError(
                    f"Motor {motor.name!r} is in {motor.joint!r}, which is none of the joints that "
                    f"move; there are {sorted(x.name for x in self.tree.joints if x.elements)}."
                )
            out.append(self._in_joints([by_name[motor.joint]], motor))
        return out

    def _in_joints(self, group: list[Joint], motor: Motor | None) -> ForceElement:
        at, joint = len(self.of_joints), group[0]
        self.of_joints.append(group)

        def function(t, a, z_a, b, z_b, own, args):
            of, A, B = relative(a, z_a, b, z_b, own)
            moved = joint_motion(joint, own, of)
            if motor is None:
                force = -own["damping"] * moved.velocities
                if joint.elements[0][0] == AXIS:
                    force = force - own["stiffness"] * (moved.coordinates - own["rest"])
            else:
                none = jnp.zeros(0, a.dtype)
                force = motor.force(t, moved.coordinates, moved.velocities, none, args.args)
            wrench = along_axes(joint, of, A, B, own, force)
            return generalised(pose(a), -wrench), generalised(pose(b), wrench)

        name = _name(group) if motor is None else motor.name
        return ForceElement(
            function, self._pairs(group), lambda args: args.joints[at], f"forces in {name}"
        )

    def constraints(self, all_: Sequence[Constraint], *, holonomic: bool) -> list[Any]:
        """Those of one kind."""
        chosen = [x for x in all_ if (x.holonomic if holonomic else x.nonholonomic)]
        out = []
        for group in _alike(chosen):
            at, first = self._group("constraints", group), group[0]
            count = len(first.bodies)

            def positions(t, a, b, own, args, first=first, count=count):
                return first.positions(t, _ends(count, a, b, own), own["own"], args.args)

            def rates(t, a, z_a, b, z_b, own, args, first=first, count=count):
                at, moved = _ends(count, a, b, own), _motions(count, a, z_a, b, z_b)
                return first.rates(t, at, moved, own["own"], args.args)

            own = lambda args, at=at: args.elements[at]
            kind = Connection if holonomic else RollingJoint
            function = positions if holonomic else rates
            out.append(kind(function, self._of_two(group), own, _name(group)))
        return out

    def between(self, forces: Sequence[Force]) -> list[ForceElement]:
        """Force elements between bodies."""
        out = []
        for group in _alike(forces):
            at, first = self._group("forces", group), group[0]
            count = len(first.bodies)

            def function(t, a, z_a, b, z_b, own, args, first=first, count=count):
                at, moved = _ends(count, a, b, own), _motions(count, a, z_a, b, z_b)
                found = first.wrenches(t, at, moved, own["own"], args.args)
                on = [generalised(pose(y), w) for y, w in zip((a, b)[-count:], found, strict=True)]
                return (jnp.zeros_like(on[0]), on[0]) if count == 1 else (on[0], on[1])

            own = lambda args, at=at: args.elements[at]
            out.append(ForceElement(function, self._of_two(group), own, _name(group)))
        return out

    def _group(self, kind: str, group: list[Any]) -> int:
        self.of_elements.append((kind, group))
        return len(self.of_elements) - 1

    def _of_two(self, group: Sequence[Any]) -> tuple[tuple[int, int], ...]:
        """Pairs of bodies; of one body alone the other is the ground."""
        found = []
        for x in group:
            for name in x.bodies:
                if name not in self.numbers:
                    raise ValueError(
                        f"{x!r} is for {name!r}, which is none of the bodies; there are "
                        f"{sorted(self.numbers)}."
                    )
            first, second = [-1, *(self.numbers[name] for name in x.bodies)][-2:]
            found.append((first, second))
        return tuple(found)

    def prepared(self, args: Any) -> Prepared:
        """The parameters, as the functions of bodies and joints need them."""
        com = centres(args)
        bodies = _stacked(
            [{x: entry(args["bodies"][body.name], x) for x in ("mass", "inertia")}
             for body in self.tree.bodies]
        )  # fmt: skip
        return Prepared(
            bodies | {"com": jnp.stack([com(body.name) for body in self.tree.bodies])},
            [_stacked([of_joint(x, args, com) for x in group]) for group in self.of_joints],
            [
                _stacked([
                    {"own": args[kind].get(x.name, {}), "coms": [com(name) for name in x.bodies]}
                    for x in group
                ])
                for kind, group in self.of_elements
            ],
            jnp.asarray(args["gravity"]), args,
        )  # fmt: skip


def _alike(elements: Sequence[Any]) -> list[list[Any]]:
    """Groups of elements that differ in numbers alone."""
    groups: dict[Any, list[Any]] = {}
    for x in elements:
        if not type(x).__module__.startswith("jaxspark."):
            # Of a class of the user's own nothing is known but its functions.
            groups[id(x)] = [x]
            continue
        functions = tuple(id(f) for f in vars(x).values() if callable(f))
        own = getattr(x, "shape", None)
        shape = (type(own), *(id(f) for f in vars(own).values() if callable(f))) if own else ()
        groups.setdefault((type(x), functions, shape, len(x.bodies)), []).append(x)
    return list(groups.values())


def _name(group: Sequence[Any]) -> str:
    first = group[0].name
    return first if len(group) == 1 else f"{first} and {len(group) - 1} more"


def _stacked(rows_: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *x: jnp.stack([jnp.asarray(y) for y in x]), *rows_)


def centres(args: Any) -> Callable[[str], Array]:
    """The centre of mass of each body, in its frame; that of the ground is its origin."""
    coms = {x: jnp.asarray(entry(own, "com")) for x, own in args["bodies"].items()}
    none = jnp.zeros(3, jnp.asarray(args["gravity"]).dtype)
    return lambda name: coms.get(name, none)


def of_joint(joint: Joint, args: Any, com: Callable[[str], Array]) -> Any:
    """The parameters of a joint, its frames seen from centres of mass."""
    own = args["joints"][joint.name]
    frame = lambda side: transform(rotation(own[f"{side}quaternion"]), own[f"{side}position"])
    axes = own["axes"] / jnp.sqrt(jnp.sum(own["axes"] ** 2, 1, keepdims=True))
    return {
        "P": shifted(frame(""), com(joint.parent)), "C": shifted(frame("child_"), com(joint.child)),
        "axes": axes, **{x: own[x] for x in ("zero", "damping", "stiffness", "rest")},
    }  # fmt: skip


def _ends(count: int, a: Array, b: Array, own: Any) -> tuple[Array, ...]:
    """The transforms of the frames of bodies."""
    out = []
    for y, com in zip((a, b)[-count:], own["coms"], strict=True):
        T = pose(y)
        origin = T[:3, 3] - jnp.sum(T[:3, :3] * com[None, :], 1)
        out.append(transform(T[:3, :3], origin))
    return tuple(out)


def _motions(count: int, a: Array, z_a: Array, b: Array, z_b: Array) -> tuple[Array, ...]:
    return tuple(motion(pose(y), z) for y, z in ((a, z_a), (b, z_b))[-count:])
