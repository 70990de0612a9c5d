"""Mechanisms of rigid bodies: from bodies, joints and forces to equations of motion."""

from ._base import base_parameters as base_parameters, BaseParameters as BaseParameters
from ._angles import angles as angles
from ._bodies import Body as Body
from ._closure import Coupling as Coupling
from ._forces import Motor as Motor, PointForce as PointForce, Spring as Spring
from ._inertias import from_log_cholesky as from_log_cholesky, log_cholesky as log_cholesky
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
from ._regressor import regressor as regressor
from ._save import save as save
