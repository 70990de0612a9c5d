"""Coordinates and velocities by the names of joints."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ._tree import Tree


# Where coordinates and velocities are.
Indices: TypeAlias = dict[str, tuple[np.ndarray, np.ndarray]]


def indices(tree: Tree, states: Mapping[str, np.ndarray]) -> Indices:
    """Of each joint on the tree, and of each controller with states of its own."""
    found: Indices = {name: (at, np.zeros(0, int)) for name, at in states.items()}
    for number, joint in enumerate(tree.joints):
        links = [k for k, x in enumerate(tree.links) if x.joint == number]
        if not links:
            continue
        if joint.name in found:
            raise ValueError(f"A joint and a controller have the name {joint.name!r}: change one.")
        links.sort(key=lambda k: tree.links[k].element)
        y = [tree.y_at[k] + np.arange(joint.coordinates // len(links)) for k in links]
        z = [tree.z_at[k] + np.arange(joint.freedoms // len(links)) for k in links]
        found[joint.name] = np.concatenate(y), np.concatenate(z)
    return found


def filled(
    tree: Tree,
    at: Indices,
    vector: np.ndarray,
    values: Mapping[str, Any],
    velocities: bool = False,
) -> np.ndarray:
    """The vector with these values; quaternions that are zero become those of no rotation.

    **Raises:** `ValueError` for a name that is none, or a value of another shape.
    """
    vector = np.array(vector, float)
    for name, value in values.items():
        if name not in at:
            raise ValueError(f"{name!r} is no joint with coordinates; there are {sorted(at)}.")
        where = at[name][int(velocities)]
        open_ = _open(value)
        value = np.atleast_1d(np.asarray(value, float))
        if value.shape != (len(where),) or not np.all(np.isfinite(value) | open_):
            raise ValueError(f"{name!r} has {len(where)} of these, all finite; got {value}.")
        vector[where] = np.where(open_, vector[where], value)
    if not velocities:
        for k in tree.turned_y:
            size = np.linalg.norm(vector[k : k + 4])
            vector[k : k + 4] = vector[k : k + 4] / size if size > 0 else [1.0, 0, 0, 0]
    return vector


def held(tree: Tree, at: Indices, values: Mapping[str, Any]) -> np.ndarray:
    """Which velocities belong to these names, but for entries that are `None`.

    **Raises:** `ValueError` if part of a joint with a quaternion is to be held.
    """
    out = np.zeros(tree.nz, bool)
    for name, value in values.items():
        where, open_ = at[name][1], _open(value)
        if len(open_) == len(where):
            out[where] = ~open_
        elif np.any(open_):
            raise ValueError(
                f"{name!r} has other coordinates than velocities: hold all of them, or none; a "
                "guess holds none."
            )
        else:
            out[where] = True
    return out


def _open(value: Any) -> np.ndarray:
    """Which entries are `None`."""
    return np.asarray([x is None for x in np.ravel(np.asarray(value, object))], bool)


def require_names(**named: Sequence[Any]) -> None:
    """Each body, joint and so on has a name of its own.

    **Raises:** `ValueError` if a name occurs twice; `TypeError` for what has none.
    """
    for kind, of in named.items():
        for x in of:
            if not hasattr(x, "name"):
                raise TypeError(f"{x!r} is no {kind}: it has no name.")
        names = [x.name for x in of]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Each {kind} has a name of its own; {twice} occur twice.")
