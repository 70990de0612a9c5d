"""Jacobians of a system's functions, in forward mode."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._jax_internals import computed_once


T = TypeVar("T")

# Measured: entries from which what all of them have in common, sines for instance, is computed
# before them: XLA on a CPU would make it a part of the loop over them.
MANY = 150


def value_and_jacobian(function: Callable[[Array], T], x: Float[Array, " n"]) -> tuple[T, Any]:
    """A function of a vector, and its derivative.

    **Arguments:**

    - `function`: returns a PyTree of vectors.
    - `x`: where.

    **Returns:** the value, and the same PyTree of matrices `(m, n)`.

    Source: A. Griewank & A. Walther, *Evaluating Derivatives*, 2nd edition, section 3.1.
    """
    value, along = jax.linearize(function, x)
    if x.size * sum(leaf.size for leaf in jax.tree.leaves(value)) > MANY:
        along = computed_once(along)
    return value, jax.vmap(along, out_axes=-1)(jnp.eye(x.size, dtype=x.dtype))
