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
from ._rollout import rollout as rollout
from ._segments import Checkpoint as Checkpoint
from ._solution import Solution as Solution, Statistics as Statistics
