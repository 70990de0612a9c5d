"""The door: one function for all that moves a system in time."""

from ._checks import Method as Method
from ._integrators import integrator_of as integrator_of
from ._rollout import rollout as rollout
from ._solve import solve as solve
