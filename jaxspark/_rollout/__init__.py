"""The fixed-step driver and what it returns."""

from ._density import StepDensity as StepDensity
from ._errors import raise_on_failure as raise_on_failure, SolveError as SolveError
from ._explain import explain as explain
from ._initial import (
    consistency_tolerance as consistency_tolerance,
    initial_result as initial_result,
    largest as largest,
)
from ._manual import step as step
from ._rollout import solve_by_steps as solve_by_steps
from ._segments import Checkpoint as Checkpoint
from ._solution import (
    every as every,
    GlobalError as GlobalError,
    Remark as Remark,
    Solution as Solution,
    Statistics as Statistics,
)
from ._steps import (
    check_number as check_number,
    EqualSteps as EqualSteps,
    GivenSteps as GivenSteps,
    known_steps as known_steps,
    KnownSteps as KnownSteps,
)
