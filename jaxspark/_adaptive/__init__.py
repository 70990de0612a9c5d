"""Adaptive steps, dense output and events, through diffrax."""

from ._adjoint import DiscreteAdjoint as DiscreteAdjoint
from ._checks import (
    check_sizes as check_sizes,
    check_times as check_times,
    filled_tolerances as filled_tolerances,
)
from ._controller import PIController as PIController
from ._dop853 import DOP853 as DOP853
from ._events import Event as Event, Occurrences as Occurrences
from ._ggl_solver import GGLSolver as GGLSolver
from ._impact import impact as impact
from ._integrators import (
    GGLIntegrator as GGLIntegrator,
    SparkIntegrator as SparkIntegrator,
)
from ._projected import Projected as Projected, UnderlyingTerm as UnderlyingTerm
from ._solve import solve_by_tolerances as solve_by_tolerances
from ._solver import DiffraxSolver as DiffraxSolver
from ._term import ConstrainedTerm as ConstrainedTerm
from ._underlying import underlying_ode as underlying_ode
