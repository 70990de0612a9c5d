"""Mechanisms of rigid bodies: from bodies, joints and forces to equations of motion."""

from ._bodies import Body as Body
from ._closure import Coupling as Coupling
from ._forces import Motor as Motor, PointForce as PointForce, Spring as Spring
from ._joints import (
    Cylindrical as Cylindrical,
    Free as Free,
    Joint as Joint,
    Planar as Planar,
    PointOnLine as PointOnLine,
    PointOnPlane as PointOnPlane,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Screw as Screw,
    Spherical as Spherical,
    Universal as Universal,
    Weld as Weld,
)
from ._load import load as load
from ._mechanism import Mechanism as Mechanism
