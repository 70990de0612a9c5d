"""The fixed-step driver and what it returns."""

from ._errors import SolveError as SolveError
from ._manual import step as step
from ._rollout import rollout as rollout
from ._solution import Solution as Solution, Statistics as Statistics
