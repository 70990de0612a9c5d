"""The discrete adjoint of an adaptive solve."""

import functools
import math
from typing import Any

import diffrax
import jax
from equinox.internal._loop.common import common_rewrite, fixed_asarray

from .._implicit import CHECKPOINT_NAME


# Loops of this many trips are nested: those that no lane needs are left out.
BASE = 16


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
        if max_steps is None:
            return super().loop(max_steps=max_steps, **kwargs)
        for name in ("throw", "passed_solver_state", "passed_controller_state"):
            kwargs.pop(name)
        return self._loop(
            **kwargs, max_steps=max_steps, inner_while_loop=_while_loop,
            outer_while_loop=_while_loop,
        )  # fmt: skip


def _while_loop(
    cond_fun: Any,
    body_fun: Any,
    init_val: Any,
    *,
    max_steps: int,
    buffers: Any = None,
    checkpoints: int | None = None,
) -> Any:
    """`equinox.internal.while_loop(kind="bounded")`, which does not say what is to be kept."""
    del checkpoints
    start = jax.tree.map(fixed_asarray, init_val)
    if max_steps == 0:
        return start
    condition, body, start, _ = common_rewrite(
        cond_fun, body_fun, start, max_steps, buffers, makes_false_steps=True
    )
    levels = max(1, math.ceil(math.log(max_steps, BASE)))
    return _nested(condition, body, start, levels)[-1]


def _nested(condition: Any, body: Any, carry: Any, levels: int) -> Any:
    if levels == 0:
        return body(carry)

    def trip(carry, _):
        further = functools.partial(_nested, condition, body, levels=levels - 1)
        return jax.lax.cond(condition(carry), further, lambda x: x, carry), None

    # The lowest level computes nothing again.
    if levels > 1:
        policy = jax.checkpoint_policies.save_only_these_names(CHECKPOINT_NAME)
        trip = jax.checkpoint(trip, prevent_cse=False, policy=policy)
    return jax.lax.scan(trip, carry, xs=None, length=BASE)[0]
