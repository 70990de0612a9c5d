"""Steps of implicit methods, with estimates of their errors; adapters for diffrax."""

from ._controller import PIController as PIController
from ._dop853 import DOP853 as DOP853
from ._ggl_solver import GGLSolver as GGLSolver
from ._integrators import (
    GGLIntegrator as GGLIntegrator,
    SparkIntegrator as SparkIntegrator,
)
from ._projected import Projected as Projected, UnderlyingTerm as UnderlyingTerm
from ._solver import DiffraxSolver as DiffraxSolver
from ._term import ConstrainedTerm as ConstrainedTerm
from ._underlying import underlying_ode as underlying_ode
