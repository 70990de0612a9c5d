"""Explicit Runge-Kutta methods on the underlying ODE, whose steps end on the constraints."""

from ._dop853 import dop853_tableau as dop853_tableau, quotient as quotient
from ._field import Field as Field
from ._integrator import ExplicitIntegrator as ExplicitIntegrator
from ._step import ExplicitStep as ExplicitStep
from ._tableau import ExplicitTableau as ExplicitTableau, tableau_of_diffrax as tableau_of_diffrax
