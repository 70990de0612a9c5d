"""An iteration as compiled programs."""

from ._compile import compiled
from ._levenberg import advance, judge, State
from ._problem import Problem
from ._proposal import Options
from ._sensitivities import Sensitivities, simulated


_advance, _judge = compiled(advance), compiled(judge)


def iterated(problem: Problem, state: State, options: Options) -> State:
    """One iteration of [`advance`][].

    The simulation is a program of its own on one device: what comes after the fit, sensors and
    derivatives at the estimate, needs no further compilation.
    """
    if problem.mesh is not None:
        # Samples stay on the devices of their trials.
        return _advance(problem, state, options)
    return _judge(problem, state, options, simulated(problem, state.ahead.u))


def after(problem: Problem, state: State, options: Options, at_u: Sensitivities) -> State:
    """The same where the model has been simulated at the step proposed, on one device."""
    return _judge(problem, state, options, at_u)
