"""Steps of implicit methods, with estimates of their errors."""

from ._integrators import (
    GGLIntegrator as GGLIntegrator,
    SparkIntegrator as SparkIntegrator,
)
from ._underlying import underlying_ode as underlying_ode
