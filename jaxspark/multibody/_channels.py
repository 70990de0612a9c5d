"""What columns of a log show, by their names: `q:shoulder`, `gyro:hand:x`, `tau:elbow`."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ._forces import Motor
from ._joints import quaternion, vector


# What is measured, what drives, and the names of components in space.
JOINTS, PLACES, DRIVES = ("q", "v"), ("gyro", "acc", "marker"), ("tau", "i", "ctrl")
KINDS = (*JOINTS, *PLACES, *DRIVES)
COMPONENTS = ("x", "y", "z")
UNITS = {
    "q": "rad", "v": "rad/s", "gyro": "rad/s", "acc": "m/s^2", "marker": "m", "tau": "N m", "i": "A"
}  # fmt: skip


class Place:
    """Where on a body a sensor is, or a marker.

    **Arguments:**

    - `body`: its name.
    - `position`: in the body's frame (m).
    - `quaternion`: the sensor's axes in that frame, `(w, x, y, z)`.

    **Raises:** `ValueError` for vectors and quaternions that are none.
    """

    def __init__(
        self, body: str, position: Any = (0.0, 0.0, 0.0), quaternion: Any = (1.0, 0.0, 0.0, 0.0)
    ):
        self.body = body
        self.position = vector(f"position of a place on {body!r}", position)
        self.quaternion = _quaternion(f"quaternion of a place on {body!r}", quaternion)

    def __repr__(self) -> str:
        return f"Place({self.body!r}, {self.position.tolist()})"


_quaternion = quaternion


class Channel(NamedTuple):
    """One column of a log.

    - `name`: of the column; `kind`: what it shows, one of `KINDS`.
    - `of`: the joint, place or actuator; `index`: which of its components.
    """

    name: str
    kind: str
    of: str
    index: int


def places_of(mechanism: Any, places: Mapping[str, Place] | None) -> dict[str, Place]:
    """All places by name; the name of a body is that of its frame's origin.

    **Raises:** `ValueError` if a place is on a body that is not there.
    """
    bodies = [body.name for body in mechanism.tree.bodies]
    for name, place in (places or {}).items():
        if place.body not in bodies:
            raise ValueError(
                f"Place {name!r} is on {place.body!r}, which is none of the bodies; there are "
                f"{sorted(bodies)}."
            )
    return {name: Place(name) for name in bodies} | dict(places or {})


def is_channel(name: str) -> bool:
    """Whether a column has a name such as `q:shoulder`."""
    return name.partition(":")[0] in KINDS and ":" in name


def channels_of(
    mechanism: Any, names: Iterable[str], places: Mapping[str, Place]
) -> tuple[Channel, ...]:
    """Columns by name, in the words of a mechanism.

    **Raises:** `ValueError` that names the column, what is wrong with it, and what there is.
    """
    sizes = {name: len(at[1]) for name, at in mechanism._at.items()}
    elements = mechanism.system.forces.elements
    actuators = {force.name: 1 for force in elements if isinstance(force, Motor)}
    found = []
    for name in names:
        kind, colon, rest = name.partition(":")
        if kind not in KINDS or not colon:
            raise ValueError(
                f"Column {name!r} shows nothing that is known: its name begins with one of "
                f"{', '.join(f'{kind}:' for kind in KINDS)}, for instance q:shoulder."
            )
        if kind in PLACES:
            of, index = _component(name, rest, places)
        elif kind == "ctrl":
            of, index = _indexed(name, rest, actuators, "actuators")
        else:
            known = sizes
            if kind == "q":
                known = {name: len(at[0]) for name, at in mechanism._at.items()}
            of, index = _indexed(name, rest, known, "joints with coordinates")
        found.append(Channel(name, kind, of, index))
    return tuple(found)


def _indexed(name: str, rest: str, sizes: Mapping[str, int], what: str) -> tuple[str, int]:
    """`shoulder`, or `ball:2` of a joint with several coordinates."""
    if rest in sizes:
        if sizes[rest] == 1:
            return rest, 0
        raise ValueError(
            f"Column {name!r}: {rest!r} has {sizes[rest]} of these; say which, by {name}:0 and so "
            "on."
        )
    of, _, number = rest.rpartition(":")
    if of in sizes and number.isdecimal() and int(number) < sizes[of]:
        return of, int(number)
    raise ValueError(_unknown(name, rest, sizes, what))


def _component(name: str, rest: str, places: Mapping[str, Place]) -> tuple[str, int]:
    of, _, component = rest.rpartition(":")
    if component not in COMPONENTS or not of:
        raise ValueError(
            f"Column {name!r} is a component of a vector: its name ends with :x, :y or :z."
        )
    if of not in places:
        raise ValueError(_unknown(name, of, places, "bodies or places"))
    return of, COMPONENTS.index(component)


def _unknown(name: str, of: str, known: Collection[str], what: str) -> str:
    near = difflib.get_close_matches(of, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"Column {name!r}: {of!r} is none of the {what}.{hint} There are {sorted(known)}."
