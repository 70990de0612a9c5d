"""Gears, racks and belts: couplings of two coordinates in the words of the field."""

from typing import Any

from ._closure import Coupling


class Gear(Coupling):
    """Two gears in mesh: `first = -ratio second + offset`.

    Coordinates are relative: of a planetary gear those of joints on its carrier.

    **Arguments:**

    - `name`: by which its multiplier is known.
    - `first`, `second`: names of revolute joints.
    - `ratio`: teeth of the second over those of the first; negative for internal teeth.
    - `offset`: (rad).
    """

    def __init__(self, name: str, first: str, second: str, *, ratio: Any, offset: Any = 0.0):
        super().__init__(name, first, second, polynomial=(offset, -_number("ratio", name, ratio)))


class RackAndPinion(Coupling):
    """A rack that a pinion shifts: `rack = radius pinion + offset`.

    **Arguments:**

    - `name`: by which its multiplier is known.
    - `rack`: the name of a prismatic joint; `pinion`: of a revolute one.
    - `radius`: of the pinion (m), negative if the rack is on the other side.
    - `offset`: (m).
    """

    def __init__(self, name: str, rack: str, pinion: str, *, radius: Any, offset: Any = 0.0):
        super().__init__(name, rack, pinion, polynomial=(offset, _number("radius", name, radius)))


class Belt(Coupling):
    """Two pulleys with a belt that does not stretch: `first = ratio second + offset`.

    **Arguments:**

    - `name`: by which its multiplier is known.
    - `first`, `second`: names of revolute joints.
    - `ratio`: radius of the second over that of the first; negative for a crossed belt.
    - `offset`: (rad).
    """

    def __init__(self, name: str, first: str, second: str, *, ratio: Any, offset: Any = 0.0):
        super().__init__(name, first, second, polynomial=(offset, _number("ratio", name, ratio)))


def _number(what: str, name: str, value: Any) -> float:
    if not float(value):
        raise ValueError(f"{what} of {name!r} must not be zero.")
    return float(value)
