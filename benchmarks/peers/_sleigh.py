"""Chaplygin's sleigh on an inclined plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


MASS, INERTIA, OFFSET = 1.0, 0.2, 0.3  # kg; kg m^2 about the centre of mass; m
SLOPE = 0.5  # m/s^2, gravity times the sine of the inclination


class Sleigh(Mechanism):
    """`q`: the contact point and the heading; one nonholonomic constraint; 10 s.

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, section 1.7, with the weight's
    component along the plane.
    """

    name = "sleigh"
    q0 = np.array([0.0, 0.0, 1.5])
    v0 = np.array([np.cos(1.5), np.sin(1.5), 4.0])
    t_end = 10.0

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """That of a rigid body whose centre of mass is ahead of the contact point."""
        s, c = MASS * OFFSET * m.sin(q[2]), MASS * OFFSET * m.cos(q[2])
        return [[MASS, 0.0, -s], [0.0, MASS, c], [-s, c, INERTIA + MASS * OFFSET**2]]

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The centrifugal force and the weight."""
        del t
        s, c, square = m.sin(q[2]), m.cos(q[2]), v[2] * v[2]
        forward = MASS * OFFSET * square * c + MASS * SLOPE
        return [forward, MASS * OFFSET * square * s, -MASS * SLOPE * OFFSET * s]

    def nonholonomic(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """The blade does not slip sideways."""
        return [[-m.sin(q[2]), m.cos(q[2]), 0.0]]
