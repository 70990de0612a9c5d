"""Steps of stiff, highly oscillatory mechanisms, on the stabilised index-2 form."""

from ._coefficients import (
    ggl_coefficients as ggl_coefficients,
    GGLCoefficients as GGLCoefficients,
)
from ._estimate import (
    error_filter as error_filter,
    independent as independent,
    raw_error as raw_error,
)
from ._newton import NewtonMode as NewtonMode, Weights as Weights
from ._residual import GGLStages as GGLStages
from ._step import ggl_step as ggl_step, GGLStep as GGLStep
