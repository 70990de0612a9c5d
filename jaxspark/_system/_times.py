"""Functions of a state, evaluated at one or at every time of a solution."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import State
from ._check import as_state


def over_times(function: Callable[..., Any], t: Any, y: State, z: State) -> Any:
    """`function(t, y, z)`, or of each row if `t` is a vector of times.

    **Arguments:**

    - `function`: of one time, coordinates and velocities.
    - `t`: a time, or a vector of `n` times.
    - `y`, `z`: a state; with a vector of times, states with a leading axis of length `n`.

    **Raises:** `ValueError` if the leading axes do not match.
    """
    y, z = as_state("y", y), as_state("z", z)
    t = jnp.asarray(t, jnp.result_type(*jax.tree.leaves(y)))
    if t.ndim == 0:
        return function(t, y, z)
    if t.ndim > 1:
        raise ValueError(f"t must be a time or a vector of times; its shape is {t.shape}.")
    for leaf in jax.tree.leaves((y, z)):
        if leaf.ndim == 0 or leaf.shape[0] != t.shape[0]:
            raise ValueError(
                f"t has {t.shape[0]} times, so that y and z need as many rows; got the shape "
                f"{leaf.shape}."
            )
    return jax.vmap(function)(t, y, z)
