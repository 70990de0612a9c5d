"""Bodies: their inertia, and lines to draw them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._joints import GROUND, vector


class Body:
    """A rigid body.

    **Arguments:**

    - `name`: by which joints and forces know it; not `"ground"`.
    - `mass`: (kg).
    - `com`: the centre of mass in the body's frame (m).
    - `inertia`: about the centre of mass, in axes of the body's frame (kg m^2): a matrix, its
        diagonal, or one number, which then stands for all three.
    - `lines`: to draw the body: arrays of points in its frame, shapes `(points, 3)` (m).

    **Raises:** `ValueError` if the mass is negative, or the inertia not that of a body: it is
    symmetric, and each principal moment is at most the sum of the others.
    """

    def __init__(
        self,
        name: str,
        mass: Any = 0.0,
        *,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = 0.0,
        lines: Sequence[Any] = (),
    ):
        if name == GROUND:
            raise ValueError(f"{GROUND!r} is what does not move; give the body another name.")
        self.name = name
        self.mass = float(mass)
        if not (self.mass >= 0 and np.isfinite(self.mass)):
            raise ValueError(f"Body {name!r} has mass {mass}; it must be a number, not negative.")
        self.com = vector(f"com of body {name!r}", com)
        self.inertia = _matrix(name, inertia)
        self.lines = tuple(np.atleast_2d(np.asarray(line, float)) for line in lines)
        for line in self.lines:
            if line.ndim != 2 or line.shape[1] != 3:
                raise ValueError(
                    f"lines of body {name!r} are arrays (points, 3); one has shape {line.shape}."
                )

    def __repr__(self) -> str:
        return f"Body({self.name!r}, {self.mass:g} kg)"


def entry(of: Any, what: str) -> Any:
    """A parameter of a dictionary; of a body also of a `jaxspark.fit.RigidBody`."""
    if isinstance(of, Mapping):
        return of[what]
    return getattr(of, "centre" if what == "com" else what)


def _matrix(name: str, inertia: Any) -> np.ndarray:
    array = np.asarray(inertia, float)
    if array.shape == ():
        array = np.full(3, float(array))
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3) or not np.all(np.isfinite(array)):
        raise ValueError(
            f"inertia of body {name!r} must be one number, three or a matrix (3, 3); got shape "
            f"{np.shape(inertia)}."
        )
    size = np.max(np.abs(array))
    if np.max(np.abs(array - array.T)) > 1e-9 * size:
        raise ValueError(f"inertia of body {name!r} is not symmetric.")
    moments = np.linalg.eigvalsh((array + array.T) / 2)
    if moments[0] < -1e-9 * size or moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
        raise ValueError(
            f"Body {name!r} has principal moments {moments}, as no body has: each is at least 0 "
            "and at most the sum of the others."
        )
    return (array + array.T) / 2
