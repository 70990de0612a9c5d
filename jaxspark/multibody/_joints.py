"""Joints: what moves in each of them, and what holds where it closes a loop."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np


# Kinds of elementary joints: a turn or a shift along an axis (or both), any turn, any motion.
AXIS, BALL, FREE = "axis", "ball", "free"
# Of an element along an axis: how far it turns, and how far it shifts.
TURN, SHIFT, BOTH = "turn", "shift", "both"
GROUND = "ground"


def vector(name: str, value: Any) -> np.ndarray:
    """Three finite numbers; of two the third is zero.

    **Raises:** `ValueError`, which names the argument.
    """
    array = np.asarray(value, float)
    if array.shape == (2,):
        array = np.append(array, 0.0)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be three finite numbers, or two in the plane; got {value}.")
    return array


def unit(name: str, value: Any) -> np.ndarray:
    """A direction, normalised.

    **Raises:** `ValueError`, which names the argument.
    """
    array = vector(name, value)
    size = np.linalg.norm(array)
    if not size > 0:
        raise ValueError(f"{name} must not be zero.")
    return array / size


def quaternion(name: str, value: Any) -> np.ndarray:
    """Four numbers `(w, x, y, z)`, normalised.

    **Raises:** `ValueError`, which names the argument.
    """
    array = np.asarray(value, float)
    if array.shape != (4,) or not np.all(np.isfinite(array)) or not np.any(array):
        raise ValueError(f"{name} must be four numbers (w, x, y, z), not all zero; got {value}.")
    return array / np.linalg.norm(array)


def _numbers(name: str, value: Any, count: int) -> np.ndarray:
    """So many finite numbers, or one for all."""
    array = np.asarray(value, float)
    if array.shape not in ((), (count,)) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, one number or {count}; got {value}.")
    return np.broadcast_to(array, (count,)).copy()


class Joint:
    """A joint between two bodies; its classes say of which kind.

    The joint has a frame on each of the two bodies. They coincide where all coordinates of the
    joint are zero; coordinates move the child's frame in that of the parent, about and along
    axes that are the same in both.

    **Arguments:**

    - `name`: by which coordinates, parameters and reactions are known.
    - `parent`, `child`: names of bodies; `"ground"` is what does not move.
    - `position`, `quaternion`: the joint's frame in that of the parent (m).
    - `child_position`, `child_quaternion`: the same in that of the child.
    - `axis`: in the joint's frame.
    - `damping`: of each coordinate (N m s, N s/m); `stiffness`, `rest`: of springs (N m, N/m) and
        the coordinates at which they are without force; `armature`: inertia of motors and gears
        (kg m^2, kg), added to the diagonal of the mass matrix.
    - `cut`: whether it closes a loop: `None` leaves that to the mechanism.

    **Raises:** `ValueError` for vectors and quaternions that are none.
    """

    # What moves, and the names of its coordinates.
    elements: ClassVar[tuple[tuple[str, str], ...]] = ()
    # What holds: axes of the parent along which points coincide, pairs of perpendicular axes.
    points: ClassVar[tuple[int, ...]] = (0, 1, 2)
    perpendicular: ClassVar[tuple[tuple[int, int], ...]] = ((0, 2), (1, 2), (0, 1))
    only_cut: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        position: Any = (0.0, 0.0, 0.0),
        quaternion: Any = (1.0, 0.0, 0.0, 0.0),
        child_position: Any = (0.0, 0.0, 0.0),
        child_quaternion: Any = (1.0, 0.0, 0.0, 0.0),
        axis: Any = (0.0, 0.0, 1.0),
        damping: Any = 0.0,
        stiffness: Any = 0.0,
        rest: Any = 0.0,
        armature: Any = 0.0,
        cut: bool | None = None,
    ):
        self.name, self.parent, self.child = name, parent, child
        if parent == child:
            raise ValueError(f"Joint {name!r} joins {parent!r} to itself.")
        own = f"of joint {name!r}"
        self.position = vector(f"position {own}", position)
        self.child_position = vector(f"child_position {own}", child_position)
        self.quaternion = _quaternion(f"quaternion {own}", quaternion)
        self.child_quaternion = _quaternion(f"child_quaternion {own}", child_quaternion)
        self.axes = self._axes(unit(f"axis {own}", axis))
        count = self.freedoms
        self.damping = _numbers(f"damping {own}", damping, count)
        self.stiffness = _numbers(f"stiffness {own}", stiffness, count)
        self.rest = _numbers(f"rest {own}", rest, count)
        self.armature = _numbers(f"armature {own}", armature, count)
        if np.any(self.stiffness) and any(kind != AXIS for kind, _ in self.elements):
            raise ValueError(
                f"Joint {name!r} has no axis, and so no stiffness; a Spring between points of the "
                "two bodies, or a force of your own, holds it."
            )
        self.zero, self.pitch = np.zeros(count), 0.0
        self.cut = True if self.only_cut else cut

    @property
    def has_forces(self) -> bool:
        """Whether it has damping, stiffness or armature."""
        return any(np.any(x) for x in (self.damping, self.stiffness, self.armature))

    @property
    def freedoms(self) -> int:
        """How many velocities it has."""
        sizes = {AXIS: 1, BALL: 3, FREE: 6}
        return sum(sizes[kind] for kind, _ in self.elements)

    @property
    def coordinates(self) -> int:
        """How many coordinates it has."""
        sizes = {AXIS: 1, BALL: 4, FREE: 7}
        return sum(sizes[kind] for kind, _ in self.elements)

    def _axes(self, axis: np.ndarray) -> np.ndarray:
        """Two axes perpendicular to the given one, and this, shape `(3, 3)`, a right-handed set."""
        return basis(axis)

    def element_axis(self, number: int) -> int:
        """Along which of the three axes an element moves."""
        del number
        return 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.parent!r}, {self.child!r})"


_quaternion = quaternion


def basis(axis: np.ndarray) -> np.ndarray:
    """Rows: two unit vectors perpendicular to the axis, along coordinate axes if it is, and it."""
    smallest = np.eye(3)[np.argmin(np.abs(axis))]
    second = np.cross(axis, smallest)
    second /= np.linalg.norm(second)
    return np.stack([np.cross(second, axis), second, axis])


class Weld(Joint):
    """No relative motion."""


class Revolute(Joint):
    """A turn about the axis (rad)."""

    elements = ((AXIS, TURN),)
    perpendicular = ((0, 2), (1, 2))


class Prismatic(Joint):
    """A shift along the axis (m)."""

    elements = ((AXIS, SHIFT),)
    points = (0, 1)


class Cylindrical(Joint):
    """A shift along the axis (m), and a turn about it (rad)."""

    elements = ((AXIS, SHIFT), (AXIS, TURN))
    points, perpendicular = (0, 1), ((0, 2), (1, 2))


class Screw(Joint):
    """A turn about the axis (rad), with a shift of `pitch` for each radian (m/rad).

    **Arguments:**

    - `pitch`: m/rad. Others as for [`jaxspark.multibody.Joint`][].
    """

    elements = ((AXIS, BOTH),)

    def __init__(self, name: str, parent: str, child: str, *, pitch: float, **others: Any):
        super().__init__(name, parent, child, **others)
        self.pitch = float(pitch)
        if self.cut:
            raise ValueError(f"Screw {name!r} cannot close a loop: set cut=True of another joint.")
        self.cut = False


class Universal(Joint):
    """Turns about `axis`, which the parent carries, and then about `second`, which the child does.

    **Arguments:**

    - `second`: perpendicular to `axis`. Others as for [`jaxspark.multibody.Joint`][].
    """

    elements = ((AXIS, TURN), (AXIS, TURN))
    perpendicular = ((2, 1),)

    def __init__(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        axis: Any = (1.0, 0.0, 0.0),
        second: Any = (0.0, 1.0, 0.0),
        **others: Any,
    ):
        self._second = unit(f"second of joint {name!r}", second)
        super().__init__(name, parent, child, axis=axis, **others)

    def _axes(self, axis: np.ndarray) -> np.ndarray:
        if abs(axis @ self._second) > 1e-12:
            raise ValueError(
                f"The axes of a universal joint are perpendicular; got {axis} and {self._second}."
            )
        return np.stack([np.cross(self._second, axis), self._second, axis])

    def element_axis(self, number: int) -> int:
        return (2, 1)[number]


class Planar(Joint):
    """Shifts along two axes perpendicular to `axis` (m), and a turn about it (rad)."""

    elements = ((AXIS, SHIFT), (AXIS, SHIFT), (AXIS, TURN))
    points, perpendicular = (2,), ((0, 2), (1, 2))

    def element_axis(self, number: int) -> int:
        return number


class Spherical(Joint):
    """Any turn about a point, as a unit quaternion."""

    elements = ((BALL, ""),)
    perpendicular = ()


class Free(Joint):
    """Any motion: the position of the child (m), and a unit quaternion."""

    elements = ((FREE, ""),)
    points, perpendicular = (), ()


class PointOnLine(Joint):
    """A point of the child on a line of the parent, along `axis`. It closes a loop."""

    points, perpendicular, only_cut = (0, 1), (), True


class PointOnPlane(Joint):
    """A point of the child in a plane of the parent, perpendicular to `axis`. It closes a loop."""

    points, perpendicular, only_cut = (2,), (), True


def rows(joint: Joint) -> Sequence[tuple[int, int | None]]:
    """For each equation of the joint: an axis of the parent, and one of the child or `None`.

    With an axis of the child the two are perpendicular; without, the joint's point on the child
    has no distance from that on the parent along the axis.
    """
    return [(axis, None) for axis in joint.points] + list(joint.perpendicular)


def aligned_rows(joint: Joint) -> Sequence[tuple[int, int | None]]:
    """More equations than needed, which hold only where axes point the same way.

    Axes that are perpendicular to both others of the other body may still be opposite to the
    third. Products of an axis with itself, which are 1, exclude that.
    """
    points: list[tuple[int, int | None]] = [(axis, None) for axis in joint.points]
    of_one, of_all = {(0, 2), (1, 2)}, {(0, 2), (1, 2), (0, 1)}
    if set(joint.perpendicular) == of_one:
        return [*points, (0, 2), (1, 2), (2, 2)]
    if set(joint.perpendicular) == of_all:
        return points + [(i, j) for i in range(3) for j in range(3)]
    return rows(joint)
