"""The car axis: an axle on springs on a bumpy road."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


LENGTH, SPRING, BUMP, FREQUENCY, GRAVITY = 1.0, 0.5, 0.1, 10.0, 1.0
INERTIA = 10.0 * 0.01**2 / 2  # M eps^2 / 2


def _road(m: Any, t: Any) -> tuple[Any, Any]:
    """Where the right wheel touches the road."""
    height = BUMP * m.sin(FREQUENCY * t)
    return m.sqrt(LENGTH * LENGTH - height * height), height


class CarAxis(Mechanism):
    """`q = (xl, yl, xr, yr)`, three seconds; dimensionless, as in the test set.

    Source: F. Mazzia & C. Magherini, *Test Set for IVP Solvers*, problem car axis.
    """

    name = "caraxis"
    q0, v0 = np.array([0.0, 0.5, 1.0, 0.5]), np.array([-0.5, 0.0, -0.5, 0.0])
    t_end = 3.0

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """`M eps^2 / 2` on the diagonal."""
        del m, q
        return (INERTIA * np.eye(4)).tolist()

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The springs and the weight."""
        del v
        xb, yb = _road(m, t)
        xl, yl, xr, yr = q
        left = m.sqrt(xl * xl + yl * yl)
        right = m.sqrt((xr - xb) * (xr - xb) + (yr - yb) * (yr - yb))
        a, b = (SPRING - left) / left, (SPRING - right) / right
        weight = INERTIA * GRAVITY
        return [a * xl, a * yl - weight, b * (xr - xb), b * (yr - yb) - weight]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The left spring is perpendicular to the chassis; the axle's length."""
        xb, yb = _road(m, t)
        xl, yl, xr, yr = q
        axle = (xl - xr) * (xl - xr) + (yl - yr) * (yl - yr)
        return [xb * xl + yb * yl, axle - LENGTH * LENGTH]
