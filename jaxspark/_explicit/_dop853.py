"""The coefficients of DOP853, and its estimate of the error of a step."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.integrate
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from ._tableau import ExplicitTableau, SAFETY, weighted


# How much of the third-order estimate keeps the quotient from being too small.
SHARE_OF_THIRD = 0.01
# Where the force jumps inside a step, the quotient may be this much smaller than the error.
BLIND, STEEP = 9.0, 45.0

_OF_SCIPY = scipy.integrate.DOP853
STAGES = _OF_SCIPY.n_stages


def quotient(of_fifth: FloatScalar, of_third: FloatScalar) -> FloatScalar:
    """What the estimate of order 5 is multiplied by, from the squares of the sizes of both.

    See [`jaxspark.DOP853`][], which derives it.
    """
    total = of_fifth + SHARE_OF_THIRD * of_third
    usable = (total > 0) & jnp.isfinite(total)
    # An infinite estimate remains one.
    share = jnp.where(usable, jnp.sqrt(of_fifth / jnp.where(usable, total, 1)), 1)
    return SAFETY * share * jnp.minimum(BLIND, 1 + STEEP * share**3)


def _estimate(h: Any, x0: Any, x1: Any, K: Float[Array, "s n"]) -> Float[Array, " n"]:
    fifth = h * weighted(np.asarray(_OF_SCIPY.E5)[:STAGES], K)
    third = h * weighted(np.asarray(_OF_SCIPY.E3)[:STAGES], K)
    unit = 1 + jnp.maximum(jnp.abs(x0), jnp.abs(x1))
    return fifth * quotient(jnp.sum((fifth / unit) ** 2), jnp.sum((third / unit) ** 2))


@functools.cache
def dop853_tableau() -> ExplicitTableau:
    """Twelve stages, order 8, an error estimate of order 8."""
    A = np.array(_OF_SCIPY.A)[:STAGES, :STAGES]
    b, c = np.array(_OF_SCIPY.B), np.array(_OF_SCIPY.C)[:STAGES]
    return ExplicitTableau("DOP853", 8, A, b, c, _estimate, 8)
