"""Problems of identification, and what other tools need for them."""

from ._double_pendulum import double_pendulum as double_pendulum
from ._fork import fork as fork
from ._fourbar import four_bar as four_bar
from ._hinge import hinge_friction as hinge_friction
from ._problem import FitProblem as FitProblem, Trial as Trial
from ._vehicle import vehicle as vehicle
