"""The door: one function for all that moves a system in time."""

from ._rollout import rollout as rollout
from ._solve import solve as solve
