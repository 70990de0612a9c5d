"""A motion from its start to its end, by any method that makes steps."""

from ._integrator import AbstractIntegrator as AbstractIntegrator, parameters_of as parameters_of
from ._solve import solve_motion as solve_motion, Wanted as Wanted
