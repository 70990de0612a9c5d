"""The heavy top with positions, a unit quaternion and body-fixed angular velocities."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


MASS, GRAVITY = 15.0, 9.81  # kg, m/s^2
INERTIA = (0.234375, 0.46875, 0.234375)  # kg m^2, about the centre of mass
CENTRE = (0.0, 1.0, 0.0)  # m, from the fixed point, in the body's axes


def rotate(quaternion: Scalars, u: Scalars) -> Scalars:
    """`R(quaternion) u` for a unit quaternion, the scalar part first."""
    w, x, y, z = quaternion
    tx = 2.0 * (y * u[2] - z * u[1])
    ty = 2.0 * (z * u[0] - x * u[2])
    tz = 2.0 * (x * u[1] - y * u[0])
    return [
        u[0] + w * tx + y * tz - z * ty,
        u[1] + w * ty + z * tx - x * tz,
        u[2] + w * tz + x * ty - y * tx,
    ]


def turning(quaternion: Scalars, w: Scalars) -> Scalars:
    """The derivative of the quaternion, half of `quaternion * (0, w)`."""
    a, b, c, d = quaternion
    return [
        0.5 * (-b * w[0] - c * w[1] - d * w[2]),
        0.5 * (a * w[0] + c * w[2] - d * w[1]),
        0.5 * (a * w[1] + d * w[0] - b * w[2]),
        0.5 * (a * w[2] + b * w[1] - c * w[0]),
    ]


class HeavyTop(Mechanism):
    """Turning at 150 rad/s about a fixed point, 1 s.

    Source: O. Bruels & A. Cardona, *On the use of Lie group time integrators in multibody
    dynamics*, J. Comput. Nonlinear Dynam. 5 (2010), section 5.
    """

    name = "heavytop"
    q0 = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    v0 = np.array([4.61538, 0.0, 0.0, 0.0, 150.0, -4.61538])
    t_end = 1.0

    def kin(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The velocity of the centre of mass, and the quaternion's."""
        del m
        return [*v[:3], *turning(q[3:7], v[3:6])]

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """The mass and the moments of inertia on the diagonal."""
        del m, q
        return np.diag([MASS, MASS, MASS, *INERTIA]).tolist()

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The weight, and the gyroscopic torque of Euler's equations."""
        del m, t, q
        w1, w2, w3 = v[3:6]
        j1, j2, j3 = INERTIA
        torque = [(j2 - j3) * w2 * w3, (j3 - j1) * w3 * w1, (j1 - j2) * w1 * w2]
        return [0.0, 0.0, -MASS * GRAVITY, *torque]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The centre of mass is where the rotation says."""
        del m, t
        return [a - b for a, b in zip(q[:3], rotate(q[3:7], CENTRE), strict=True)]
