"""Derivatives of what a failed computation leaves: NaN, never plausible numbers."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._custom_types import BoolScalar


@jax.custom_jvp
def nan_derivatives(x: Array, failed: BoolScalar) -> Array:
    """`x`, of which all derivatives are NaN if `failed`, forward and reverse.

    But zero where what comes in is zero: a result that is not used, because it failed, poisons
    nothing.
    """
    del failed
    return x


@nan_derivatives.defjvp
def _jvp(primals: tuple[Array, BoolScalar], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    x, failed = primals

    def poison(_, change):
        return jnp.where(failed & (change != 0), jnp.nan, change)

    # A linear map whose rule and whose transpose are the same one: JAX's way to say so.
    change = jax.lax.custom_linear_solve(lambda u: u, tangents[0], poison, poison)
    return nan_derivatives(x, failed), change
