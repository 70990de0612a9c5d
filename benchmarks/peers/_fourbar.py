"""A four-bar linkage with parameters, by its three angles and reduced by hand to one."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._arrays import Arrays
from ._mechanism import Mechanism, Scalars


GROUND, CRANK, COUPLER, ROCKER = 2.0, 0.8, 2.2, 1.6  # m
GRAVITY = 9.81  # m/s^2
# Masses of crank, coupler and rocker (kg), stiffness (N m), rest angle, damping (N m s).
NOMINAL = np.array([1.0, 1.5, 1.2, 6.0, 0.6, 0.05])
ANGLE = 1.0  # of the crank at the start, at rest


class FourBar(Mechanism):
    """Crank, coupler and rocker by their angles from the x axis, 10 s; a spring at the crank.

    **Arguments:**

    - `parameters`: three masses (kg), stiffness (N m), rest angle and damping (N m s) of the
        spring. They may be tracers of JAX or symbols of CasADi.
    """

    name = "fourbar"
    t_end = 10.0

    def __init__(self, parameters: Sequence[Any] | Any = NOMINAL):
        self.parameters = tuple(parameters)
        self.q0, self.v0 = np.array([ANGLE, *loop(math, ANGLE)]), np.zeros(3)

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """Uniform rods; the coupler hangs on the crank's end."""
        m1, m2, m3 = self.parameters[:3]
        both = 0.5 * m2 * CRANK * COUPLER * m.cos(q[0] - q[1])
        crank = (m1 / 3 + m2) * CRANK**2
        return [
            [crank, both, 0.0],
            [both, m2 * COUPLER**2 / 3, 0.0],
            [0.0, 0.0, m3 * ROCKER**2 / 3],
        ]

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """Weights, the spring with its damper, and the terms quadratic in the velocities."""
        del t
        m1, m2, m3, stiffness, rest, damping = self.parameters
        both = 0.5 * m2 * CRANK * COUPLER * m.sin(q[0] - q[1])
        weight = (0.5 * m1 + m2) * GRAVITY * CRANK * m.cos(q[0])
        spring = stiffness * (q[0] - rest) + damping * v[0]
        return [
            -both * v[1] * v[1] - weight - spring,
            both * v[0] * v[0] - 0.5 * m2 * GRAVITY * COUPLER * m.cos(q[1]),
            -0.5 * m3 * GRAVITY * ROCKER * m.cos(q[2]),
        ]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The loop closes."""
        del t
        return [
            CRANK * m.cos(q[0]) + COUPLER * m.cos(q[1]) - ROCKER * m.cos(q[2]) - GROUND,
            CRANK * m.sin(q[0]) + COUPLER * m.sin(q[1]) - ROCKER * m.sin(q[2]),
        ]


def potential(m: Any, q: Scalars, parameters: Scalars) -> Any:
    """The energy of weights and spring (J)."""
    m1, m2, m3, stiffness, rest, _ = parameters
    heights = (0.5 * m1 + m2) * CRANK * m.sin(q[0])
    heights = heights + 0.5 * (m2 * COUPLER * m.sin(q[1]) + m3 * ROCKER * m.sin(q[2]))
    return GRAVITY * heights + 0.5 * stiffness * (q[0] - rest) ** 2


def loop(m: Any, crank: Any) -> tuple[Any, Any]:
    """The angles of coupler and rocker that close the loop."""
    dx, dy = GROUND - CRANK * m.cos(crank), -CRANK * m.sin(crank)
    squared = dx * dx + dy * dy
    cosine = (COUPLER**2 + squared - ROCKER**2) / (2 * COUPLER * m.sqrt(squared))
    coupler = m.atan2(dy, dx) + m.acos(cosine)
    return coupler, m.atan2(COUPLER * m.sin(coupler) - dy, COUPLER * m.cos(coupler) - dx)


def slopes(m: Any, a: Any, b: Any, c: Any) -> tuple[list[Any], list[Any]]:
    """First and second derivatives of the three angles by the crank's."""
    sine = m.sin(c - b)
    b1 = CRANK * m.sin(a - c) / (COUPLER * sine)
    c1 = CRANK * m.sin(a - b) / (ROCKER * sine)
    x = -CRANK * m.cos(a) - COUPLER * m.cos(b) * b1 * b1 + ROCKER * m.cos(c) * c1 * c1
    y = CRANK * m.sin(a) + COUPLER * m.sin(b) * b1 * b1 - ROCKER * m.sin(c) * c1 * c1
    b2 = (m.sin(c) * y - m.cos(c) * x) / (COUPLER * sine)
    return [1.0, b1, c1], [0.0, b2, (m.sin(b) * y - m.cos(b) * x) / (ROCKER * sine)]


def reduced(m: Any, x: Scalars, parameters: Any) -> Scalars:
    """The derivatives of the crank's angle and rate, from d'Alembert's principle."""
    mechanism = FourBar(parameters)
    angle, rate = x[0], x[1]
    angles = [angle, *loop(m, angle)]
    first, second = slopes(m, *angles)

    def dot(row, column):
        return sum(a * b for a, b in zip(row, column, strict=True))

    rows = [dot(row, first) for row in mechanism.mass(m, angles)]
    force = mechanism.force(m, 0.0, angles, [slope * rate for slope in first])
    return [rate, (dot(first, force) - dot(rows, second) * rate * rate) / dot(rows, first)]


def expand(m: Any, x: Scalars) -> tuple[Scalars, Scalars]:
    """The three angles and rates of the crank's."""
    angles = [x[0], *loop(m, x[0])]
    return angles, [slope * x[1] for slope in slopes(m, *angles)[0]]


def four_bar() -> jaxspark.MechanicalSystem:
    """The linkage as a system whose `args` are its six parameters, shape `(6,)`."""
    return jaxspark.MechanicalSystem(
        lambda t, q, args: Arrays(FourBar(args)).mass(q),
        lambda t, q, v, args: Arrays(FourBar(args)).force(t, q, v),
        lambda t, q, args: Arrays(FourBar(args)).holonomic(t, q),
    )


def four_bar_state(crank: Any) -> tuple[Any, Any]:
    """Consistent angles and rates from the crank's angle and rate, shapes `(3,)`."""
    q, v = expand(jnp, crank)
    return jnp.stack(q), jnp.stack(v)
