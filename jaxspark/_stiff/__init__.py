"""Steps of stiff, highly oscillatory mechanisms, on the stabilised index-2 form."""

from ._coefficients import (
    ggl_coefficients as ggl_coefficients,
)
from ._damp import damp_start as damp_start, DampedStart as DampedStart
from ._estimate import (
    step_error as step_error,
)
from ._method import GGL as GGL
from ._newton import (
    Weights as Weights,
)
from ._predict import (
    extrapolated_stages as extrapolated_stages,
    start_stages as start_stages,
)
from ._residual import GGLStages as GGLStages
from ._step import ggl_end as ggl_end, ggl_step as ggl_step
