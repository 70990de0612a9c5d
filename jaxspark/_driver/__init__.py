"""One loop over steps, for methods that make them, and its derivatives."""

from ._control import (
    LARGEST as LARGEST,
    RELAXATION as RELAXATION,
    Tolerances as Tolerances,
)
from ._record import Problem as Problem, Progress as Progress, UNITS as UNITS
from ._trajectory import trajectory as trajectory
