"""Which parameters of a mechanism are to be identified, by their paths in the tree."""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import fit
from ._tables import BODY


# What is not identified: rotations are no free numbers.
TURNED = ("quaternion", "child_quaternion", "axes")
POSITIVE = ("mass", "damping", "stiffness", "armature", "length", "gain")
UNITS = {"mass": "kg", "com": "m", "position": "m", "child_position": "m", "gravity": "m/s^2"}
# The size of lengths that are zero at first (m).
LENGTH = 0.1


def with_unknown(
    parameters: Mapping[str, Any], unknown: Sequence[str] | Mapping[str, Any]
) -> dict[str, Any]:
    """A copy of the parameters with specifications in place of what is unknown.

    **Arguments:**

    - `parameters`: as a mechanism has them.
    - `unknown`: paths such as `"bodies/arm/mass"`, in which `*` stands for anything; or a
        dictionary of these, each with a specification of [`jaxspark.fit`][] or `None`.

    **Raises:** `ValueError` for a path that leads to nothing, or to what cannot be identified.
    """
    given = dict(unknown) if isinstance(unknown, Mapping) else dict.fromkeys(unknown)
    leaves = dict(_leaves(parameters))
    chosen: dict[tuple[str, ...], tuple[str, Any]] = {}
    for pattern, made in given.items():
        found = [path for path in leaves if _fits(path, pattern)]
        if not found:
            near = sorted({"/".join((*path[:-1], "")) for path in leaves})
            raise ValueError(
                f"No parameter is {pattern!r}. Parameters are in {', '.join(near[:30])}; for "
                "instance bodies/NAME/mass, joints/*/damping."
            )
        chosen |= {path: (pattern, made) for path in found}
    tree = _copied(parameters)
    for name in parameters["bodies"]:
        own = [path for path in chosen if path[:2] == ("bodies", name)]
        if any(path[2] == "inertia" for path in own):
            _whole_body(tree, name, own, chosen)
    for path, (_, made) in chosen.items():
        value = np.asarray(leaves[path], float)
        _put(tree, path, made if made is not None else _specification(path, value, parameters))
    return tree


def _leaves(tree: Any, path: tuple[str, ...] = ()) -> Any:
    if isinstance(tree, Mapping):
        for name, part in tree.items():
            yield from _leaves(part, (*path, str(name)))
    else:
        yield path, tree


def _fits(path: tuple[str, ...], pattern: str) -> bool:
    """Whether the pattern is that of a leaf, or of the dictionary that has it."""
    places = ("/".join(path), "/".join(path[:-1]))
    return any(place == pattern or fnmatch.fnmatchcase(place, pattern) for place in places)


def _copied(tree: Any) -> Any:
    return {k: _copied(v) for k, v in tree.items()} if isinstance(tree, Mapping) else tree


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree[name]
    tree[path[-1]] = value


def _whole_body(tree: dict[str, Any], name: str, own: list[Any], chosen: dict[Any, Any]) -> None:
    """All ten numbers of a body at once, which stay those of a body."""
    if len(own) < len(BODY):
        raise ValueError(
            f"The inertia of body {name!r} is identified with its mass and com, so that they stay "
            f"those of a body: name bodies/{name} as a whole, with a prior of what is known."
        )
    (pattern, made), body = chosen[own[0]], tree["bodies"][name]
    for path in own:
        del chosen[path]
    if float(body["mass"]) == 0 and not np.any(np.asarray(body["inertia"])):
        if "*" in pattern:
            return
        raise ValueError(f"Body {name!r} has no mass, and so no inertia to begin a search with.")
    try:
        made = made or fit.rigid_body(*(np.asarray(body[what]) for what in BODY))
    except ValueError as error:
        raise ValueError(
            f"Body {name!r}: {error} Or identify bodies/{name}/mass and bodies/{name}/com alone."
        ) from None
    tree["bodies"][name] = made


def _specification(path: tuple[str, ...], value: np.ndarray, parameters: Any) -> fit.Parameter:
    what = path[-1]
    if what in TURNED:
        raise ValueError(
            f"{'/'.join(path)} is a rotation, which is not identified: name numbers, such as "
            "joints/*/damping."
        )
    unit = UNITS.get(what, "")
    if what in POSITIVE and np.all(value > 0):
        return fit.positive(value, unit)
    scale = LENGTH if unit == "m" else 1.0
    if what == "com":
        # Of a body as large as its inertia says.
        body = parameters["bodies"][path[1]]
        mass, trace = float(body["mass"]), float(np.trace(np.asarray(body["inertia"])))
        scale = np.sqrt(trace / (2 * mass)) if mass > 0 and trace > 0 else LENGTH
    return fit.real(value, unit, scale=scale)
