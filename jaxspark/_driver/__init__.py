"""One loop over steps, for methods that make them, and its derivatives."""

from ._control import (
    GAINS as GAINS,
    LARGEST as LARGEST,
    Tolerances as Tolerances,
)
from ._locate import (
    AbstractEvents as AbstractEvents,
    Happening as Happening,
    OVER as OVER,
)
from ._progress_bar import ProgressBar as ProgressBar
from ._rows import (
    at as at,
    Problem as Problem,
    Progress as Progress,
    put as put,
    Rows as Rows,
)
from ._steps import (
    AbstractRepeatable as AbstractRepeatable,
    AbstractSteps as AbstractSteps,
    Step as Step,
)
from ._sweeps import each_lane as each_lane
from ._trajectory import trajectory as trajectory
