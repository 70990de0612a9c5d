"""A motion from its start to its end, by any method that makes steps."""

from ._events import as_events as as_events, Event as Event, Occurrences as Occurrences
from ._impact import impact as impact
from ._integrator import AbstractIntegrator as AbstractIntegrator, parameters_of as parameters_of
from ._solve import solve_motion as solve_motion, Wanted as Wanted
