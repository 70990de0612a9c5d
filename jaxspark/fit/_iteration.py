"""An iteration as compiled programs."""

from ._compile import compiled
from ._evaluate import simulated
from ._levenberg import advance, judge, Options, propose, State
from ._problem import Problem


_advance, _propose, _judge = compiled(advance), compiled(propose), compiled(judge)


def iterated(problem: Problem, state: State, options: Options) -> State:
    """One iteration of [`advance`][].

    The simulation is a program of its own on one device: what comes after the fit, sensors and
    derivatives at the estimate, needs no further compilation.
    """
    if problem.mesh is not None:
        # Samples stay on the devices of their trials.
        return _advance(problem, state, options)
    proposal = _propose(problem, state, options)
    return _judge(problem, state, options, proposal, simulated(problem, proposal.u))
