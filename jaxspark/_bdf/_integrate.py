"""The integration: attempts at steps, one after the other, until the end or a failure."""

import equinox as eqx
import jax

from .._custom_types import FloatScalar
from .._results import RESULTS
from .._system import FlatSystem
from ._attempt import try_step
from ._formulations import Settings
from ._judge import judge
from ._state import State


def integrate(
    system: FlatSystem,
    settings: Settings,
    state: State,
    t1: FloatScalar,
    rtol: FloatScalar,
    atol: FloatScalar,
) -> State:
    """Attempt steps until `t1` is reached, or no step can be made.

    Source: K. E. Brenan, S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value
    Problems in Differential-Algebraic Equations*, 5.2; subroutine DDASTP, whose order of tests is
    kept; an attempt that is repeated with a new matrix is one more trip of the loop.
    """

    def body(state):
        attempt = try_step(system, settings, state, t1, rtol, atol)
        return judge(system, settings, state, attempt, t1)

    def unfinished(state):
        room = state.stats.num_steps < settings.max_steps
        return (state.result == RESULTS.successful) & (state.t != t1) & room

    end = jax.lax.while_loop(unfinished, body, state)
    full = (end.result == RESULTS.successful) & (end.t != t1)
    result = RESULTS.where(full, RESULTS.max_steps_reached, end.result)
    return eqx.tree_at(lambda end: end.result, end, result)
