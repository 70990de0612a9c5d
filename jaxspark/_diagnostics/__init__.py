"""What a solution conserves, or should: energy and momentum maps."""

from ._check_gradient import (
    check_gradient as check_gradient,
    GradientCheck as GradientCheck,
)
from ._energy import energy as energy
from ._momentum import momentum_map as momentum_map
from ._summary import summary as summary
