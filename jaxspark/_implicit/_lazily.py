"""A branch that costs nothing where it is not taken, under `jax.vmap`, too."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar


S = TypeVar("S")
T = TypeVar("T")


def lazily(wanted: BoolScalar, function: Callable[[S], T], operands: S, otherwise: T) -> T:
    """`function(operands)` if that is wanted, else something that is known.

    It is a loop of at most one trip: under `jax.vmap` `jax.lax.cond` would compute both branches
    for every lane, and the loop makes no trip unless some lane wants it. It overwrites the
    operands, for what a loop changes the compiler cannot hoist out of it: whatever makes the
    function expensive must depend on them.

    **Arguments:**

    - `wanted`: whether to compute it.
    - `function`: of the operands.
    - `operands`: a PyTree of arrays.
    - `otherwise`: a PyTree like the function's result.
    """

    def trip(carry: tuple[BoolScalar, S, T]) -> tuple[BoolScalar, S, T]:
        _, operands, _ = carry
        found = function(operands)
        return jnp.asarray(False), jax.tree.map(jnp.zeros_like, operands), found

    start = (jnp.asarray(wanted), operands, otherwise)
    return jax.lax.while_loop(lambda carry: carry[0], trip, start)[2]
