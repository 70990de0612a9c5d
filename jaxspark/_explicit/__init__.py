"""Explicit Runge-Kutta methods on the underlying ODE, whose steps end on the constraints."""

from ._integrator import ExplicitIntegrator as ExplicitIntegrator
from ._method import ExplicitMethod as ExplicitMethod
from ._methods import (
    Bosh3 as Bosh3,
    DOP853 as DOP853,
    Dopri5 as Dopri5,
    Dopri8 as Dopri8,
    Tsit5 as Tsit5,
)
