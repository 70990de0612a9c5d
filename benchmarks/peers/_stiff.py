"""The mechanisms of `benchmarks.problems` whose springs hardly change a slow motion."""

from typing import Any

import numpy as np

from ..problems import (
    spring_double_pendulum,
    spring_pendulum,
    swinging_bushing,
    yen_petzold_bushing,
)
from ._mechanism import Mechanism, Scalars
from ._springs import Elongated, Sprung


GRAVITY = 9.81  # m/s^2, of the bushing; one, of the others


class SpringPendulum(Sprung):
    """A point mass on a spring of stiffness `eps^-2`, two seconds."""

    name, t_end = "spring pendulum", 2.0

    def __init__(self, eps: float):
        self.q0, self.v0 = spring_pendulum(eps).y0[:2], np.zeros(2)
        self.stiffness = 1 / eps**2

    def free(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The weight."""
        del m, t, q, v
        return [0.0, -1.0]

    def elongations(self, m: Any, q: Scalars) -> Scalars:
        """Of the spring, of unit length."""
        return [m.sqrt(q[0] * q[0] + q[1] * q[1]) - 1.0]

    def pull(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The force of the spring."""
        del v
        (e,) = self.elongations(m, q)
        tension = -self.stiffness * e / (1.0 + e)
        return [tension * q[0], tension * q[1]]


class SpringDoublePendulum(Sprung):
    """A rod, and a second mass on a spring of stiffness `eps^-2`, two seconds."""

    name, t_end = "spring double pendulum", 2.0

    def __init__(self, eps: float):
        self.q0, self.v0 = spring_double_pendulum(eps).y0[:4], np.zeros(4)
        self.stiffness = 1 / eps**2

    def free(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The weights."""
        del m, t, q, v
        return [0.0, -1.0, 0.0, -1.0]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The rod."""
        del m, t
        return [0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0)]

    def elongations(self, m: Any, q: Scalars) -> Scalars:
        """Of the spring, of unit length."""
        x, y = q[2] - q[0], q[3] - q[1]
        return [m.sqrt(x * x + y * y) - 1.0]

    def pull(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The forces of the spring."""
        del v
        (e,) = self.elongations(m, q)
        tension = -self.stiffness * e / (1.0 + e)
        x, y = tension * (q[2] - q[0]), tension * (q[3] - q[1])
        return [-x, -y, x, y]


class SwingingBushing(Sprung):
    """Two bodies of unit mass and inertia, a bushing of stiffness `1 / eps` between them.

    Source: Yen & Petzold, TR 96-028, section 5.2, with other joints.
    """

    name, t_end = "swinging bushing", 1.0

    def __init__(self, eps: float):
        problem = swinging_bushing(eps)
        self.q0, self.v0 = problem.y0, problem.z0
        self.stiffness, self.damping = 1 / eps, problem.args["c"]

    def free(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The weights."""
        del m, t, q, v
        return [0.0, -GRAVITY, 0.0, 0.0, -GRAVITY, 0.0]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The centre of body 1 stands still."""
        del m, t
        return [q[0], q[1]]

    def elongations(self, m: Any, q: Scalars) -> Scalars:
        """The displacements of the bushing."""
        x = q[3] - 0.5 * m.cos(q[5]) - q[0] - 0.5 * m.cos(q[2])
        y = q[4] - 0.5 * m.sin(q[5]) - q[1] - 0.5 * m.sin(q[2])
        return [x, y, q[5] - q[2]]

    def pull(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The forces and torques of the bushing at its ends."""
        s1, c1, s2, c2 = m.sin(q[2]), m.cos(q[2]), m.sin(q[5]), m.cos(q[5])
        rates = [
            v[3] + 0.5 * s2 * v[5] - v[0] + 0.5 * s1 * v[2],
            v[4] - 0.5 * c2 * v[5] - v[1] - 0.5 * c1 * v[2],
            v[5] - v[2],
        ]
        pairs = zip(self.elongations(m, q), rates, strict=True)
        x, y, torque = (self.stiffness * e + self.damping * rate for e, rate in pairs)
        first, second = 0.5 * (c1 * y - s1 * x), 0.5 * (c2 * y - s2 * x)
        return [x, y, first + torque, -x, -y, second - torque]


class Bushing(SwingingBushing):
    """Body 1 stands still, body 2 hardly moves about its equilibrium, one second.

    Source: Yen & Petzold, TR 96-028, section 5.2.
    """

    name = "bushing"

    def __init__(self, eps: float):
        super().__init__(eps)
        problem = yen_petzold_bushing(eps, "equilibrium")
        self.q0, self.v0 = problem.y0, problem.z0

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """Body 2 is at unit distance, and does not turn."""
        del m, t
        x, y = q[3] - q[0], q[4] - q[1]
        return [q[0], q[1], q[2], 0.5 * (x * x + y * y - 1.0), q[5]]


def stiff_mechanisms(eps: float) -> dict[str, tuple[Mechanism, Mechanism]]:
    """By name, each with its springs as forces and as coordinates.

    They start with the elongations of the slow motion, not those that rounding errors of the
    positions leave.
    """
    spring, double = spring_pendulum(eps).y0[2:], spring_double_pendulum(eps).y0[4:]
    return {
        "spring pendulum": _both(SpringPendulum(eps), spring, [0.0]),
        "spring double pendulum": _both(SpringDoublePendulum(eps), double, [0.0]),
        **{sprung.name: _bushed(sprung) for sprung in (SwingingBushing(eps), Bushing(eps))},
    }


def _bushed(plain: Sprung) -> tuple[Mechanism, Mechanism]:
    """Body 2 does not turn at first."""
    elongations = [float(e) for e in plain.elongations(np, plain.q0)]
    return _both(plain, elongations, [plain.v0[3], plain.v0[4], 0.0])


def _both(plain: Sprung, elongations: Any, rates: Any) -> tuple[Mechanism, Mechanism]:
    return plain, Elongated(plain, elongations, rates)
