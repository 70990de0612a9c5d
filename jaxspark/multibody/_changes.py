"""What of the parameters differs from those of a file."""

from typing import Any

import numpy as np

from ._bodies import entry
from ._load import _body, _equalities, _gravity, _joints, _Names
from ._tables import BODY, JOINT


# How far a number that is written may be off when it is read, relative to its vector or matrix.
EXACT = 1e-12

Changes = dict[tuple[str, str, str], np.ndarray]


class Values:
    """The parameters that a file has.

    - `of`: by `("bodies", body, "mass")` and so on, in double precision.
    - `joints`, `closing`: the joints of its tree, and those of its equalities, by name;
        `equality_numbers`: the numbers of equalities.
    - `between`: names of bodies without mass between several joints of one body.
    - `named`: names of its bodies and joints, by number.
    """

    def __init__(self, model: Any):
        self.model, self.named = model, _Names(model)
        bodies = [_body(model, self.named, number) for number in range(1, model.nbody)]
        joints, between = _joints(model, self.named)
        self.between = {x.name for x in between}
        self.joints = {x.name: x for x in joints}
        self.closing = {x.name: x for x in _equalities(model, self.named)[0]}
        names = [model.equality(k).name or f"equality {k}" for k in range(model.neq)]
        names = [f"{x} (equality)" if x in self.named.joints else x for x in names]
        self.equality_numbers = {name: number for number, name in enumerate(names)}
        self.of: Changes = {("gravity", "", ""): _gravity(model)}
        for kind, keys, every in (
            ("bodies", BODY, [*bodies, *between]),
            ("joints", JOINT, [*joints, *self.closing.values()]),
        ):
            for one in every:
                for key in keys:
                    self.of[kind, one.name, key] = np.asarray(getattr(one, key), float)

    def changes(self, parameters: Any) -> Changes:
        """What is not as in the file, in double precision.

        Joints that the file does not have are those that were added to it, and are left out.

        **Raises:** `ValueError` for a body that the file does not have, or values of another shape.
        """
        given: Changes = {}
        for name, own in parameters.get("bodies", {}).items():
            if ("bodies", name, "mass") not in self.of:
                known = sorted({at[1] for at in self.of if at[0] == "bodies"})
                raise ValueError(f"The file has no body {name!r}; it has {known}.")
            given |= {("bodies", name, key): entry(own, key) for key in BODY}
        for name, own in parameters.get("joints", {}).items():
            if ("joints", name, "zero") in self.of:
                given |= {("joints", name, key): own[key] for key in JOINT if key in own}
        if "gravity" in parameters:
            given["gravity", "", ""] = parameters["gravity"]
        return {at: x for at, value in given.items() if (x := self._changed(at, value)) is not None}

    def _changed(self, at: tuple[str, str, str], value: Any) -> np.ndarray | None:
        value, own = np.asarray(value), self.of[at]
        if value.shape != own.shape or not np.all(np.isfinite(value)):
            raise ValueError(
                f"{spoken(at)} must be finite numbers of shape {own.shape}; got {value.tolist()}."
            )
        # In single precision what was read is not what the file has.
        same = np.array_equal(own.astype(value.dtype), value)
        return None if same else value.astype(float)

    def off(self, expected: Changes) -> Changes:
        """Those of the values that the file does not have."""
        return {at: value for at, value in expected.items() if not self._same(at, value)}

    def _same(self, at: tuple[str, str, str], value: np.ndarray) -> bool:
        kind, name, key = at
        if at not in self.of:
            return False
        own = self.of[at]
        if key.endswith("quaternion"):
            own = own * np.sign(own @ value or 1.0)
            value = value / np.linalg.norm(value)
        if key == "axes":
            # Of joints of files the third is the axis; the others are any two across it.
            own, value = own[2], value[2] / np.linalg.norm(value[2])
        size = np.max(np.abs(value), initial=0.0)
        if key in ("position", "child_position"):
            size += np.max(np.abs(self.of["joints", name, "position"]))
            size += np.max(np.abs(self.of["joints", name, "child_position"]))
        if kind == "bodies" and key == "com":
            size += np.sqrt(np.trace(self.of["bodies", name, "inertia"])
                            / (self.of["bodies", name, "mass"] or np.inf))  # fmt: skip
        return bool(np.max(np.abs(own - value), initial=0.0) <= EXACT * size)


def spoken(at: tuple[str, str, str]) -> str:
    """Which parameter it is, in words."""
    kind, name, key = at
    what = {"bodies": "body", "joints": "joint"}
    return "gravity" if kind == "gravity" else f"{key} of {what[kind]} {name!r}"
