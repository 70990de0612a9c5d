"""Mechanisms of rigid bodies: from bodies, joints and forces to equations of motion."""

from ._angles import angles as angles
from ._base import base_parameters as base_parameters, BaseParameters as BaseParameters
from ._bodies import Body as Body
from ._by_bodies import ByBodies as ByBodies
from ._channels import Place as Place
from ._closure import Coupling as Coupling
from ._constraint import Holonomic as Holonomic, Nonholonomic as Nonholonomic
from ._contact import KnifeEdge as KnifeEdge, Rolling as Rolling
from ._distance import Distance as Distance, PointOnSurface as PointOnSurface
from ._force import Force as Force
from ._friction import JointFriction as JointFriction
from ._gears import Belt as Belt, Gear as Gear, RackAndPinion as RackAndPinion
from ._identification import Identification as Identification
from ._identify import identify as identify
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
from ._loads import (
    BodyForce as BodyForce,
    PenaltyContact as PenaltyContact,
    PointForce as PointForce,
)
from ._mechanism import Mechanism as Mechanism
from ._model import model as model
from ._motors import Controller as Controller, Motor as Motor
from ._prescribed import Prescribed as Prescribed, PrescribedVelocity as PrescribedVelocity
from ._regressor import regressor as regressor
from ._relative import JointMotion as JointMotion
from ._results import BodyMotion as BodyMotion, Results as Results, Wrench as Wrench
from ._save import save as save
from ._sensors import sensors as sensors
from ._shapes import (
    Convex as Convex,
    Disk as Disk,
    Ellipsoid as Ellipsoid,
    Shape as Shape,
    Sphere as Sphere,
    Torus as Torus,
)
from ._sites import sites as sites
from ._springs import Bushing as Bushing, Spring as Spring
