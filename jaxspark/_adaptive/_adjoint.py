"""The discrete adjoint of an adaptive solve."""

import functools
import math
from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from .._implicit import CHECKPOINT_NAME
from .._jax_internals import any_lane, kept_lane, loop_of


# Loops of this many trips are nested: those that no lane needs are left out.
BASE = 16
# What diffrax gives to an adjoint, and not to its loops.
NOT_OF_LOOPS = ("throw", "passed_solver_state", "passed_controller_state")


class DiscreteAdjoint(diffrax.DirectAdjoint):
    """Every derivative, forward and reverse and of any order, of the steps that were made.

    Like `diffrax.DirectAdjoint`, but reverse mode keeps the stages and the error of every step.
    What it computes again are no iterations; and step sizes, which would follow from errors that
    are rounded otherwise, are those of the solve. Memory: the stages of `max_steps` steps.

    Source: P. Kidger, *On Neural Differential Equations*, section 5.1, for the loops; what is
    kept is this project's choice.
    """

    def loop(self, *, max_steps: int | None, **kwargs: Any) -> Any:
        """Run diffrax's loops; without `max_steps` there is no reverse mode."""
        loops = {"inner_while_loop": _while_loop, "outer_while_loop": _while_loop}
        own = {name: value for name, value in kwargs.items() if name not in NOT_OF_LOOPS}
        run = None if max_steps is None else loop_of(self, max_steps=max_steps, **own, **loops)
        return super().loop(max_steps=max_steps, **kwargs) if run is None else run()


def _while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    max_steps: int,
    buffers: Any = None,
    checkpoints: int | None = None,
) -> Any:
    """The loop that diffrax asks for, of `max_steps` trips at most, as nested scans.

    - `buffers`, `checkpoints`: for other kinds of loops.
    """
    del buffers, checkpoints
    value = jax.tree.map(jnp.array, init_val)
    if max_steps == 0:
        return value

    def going(carry):
        count, on, _ = carry
        return any_lane(on & (count < max_steps))

    def body(carry):
        count, on, value = carry
        value = kept_lane(on, body_fun(value), value)
        return count + 1, on & cond_fun(value), value

    levels = max(1, math.ceil(math.log(max_steps, BASE)))
    start = jnp.zeros((), jnp.int32), jnp.asarray(cond_fun(value)), value
    return _nested(going, body, start, levels)[-1]


def _nested(
    going: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any, levels: int
) -> Any:
    if levels == 0:
        return body(carry)

    def trip(carry, _):
        further = functools.partial(_nested, going, body, levels=levels - 1)
        return jax.lax.cond(going(carry), further, lambda x: x, carry), None

    # The lowest level computes nothing again.
    if levels > 1:
        policy = jax.checkpoint_policies.save_only_these_names(CHECKPOINT_NAME)
        trip = jax.checkpoint(trip, prevent_cse=False, policy=policy)
    return jax.lax.scan(trip, carry, xs=None, length=BASE)[0]
