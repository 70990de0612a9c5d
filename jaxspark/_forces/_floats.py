"""Numbers of one floating-point type."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def as_floats(*values: Any) -> list[Float[Array, "..."]]:
    """Arrays of the type of the first; of the default one if that is of integers."""
    first = jnp.asarray(values[0])
    if not jnp.issubdtype(first.dtype, jnp.inexact):
        first = first.astype(jnp.asarray(0.0).dtype)
    return [first, *(jnp.asarray(value, first.dtype) for value in values[1:])]
