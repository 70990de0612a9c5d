"""The estimate of the error of a step of DOP853."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from ._method import SAFETY, weighted
from ._tables import DOP853_FIFTH, DOP853_THIRD


# How much of the third-order estimate keeps the quotient from being too small.
SHARE_OF_THIRD = 0.01
# Where the force jumps inside a step, the quotient may be this much smaller than the error.
BLIND, STEEP = 9.0, 45.0


def quotient(of_fifth: FloatScalar, of_third: FloatScalar) -> FloatScalar:
    """What the estimate of order 5 is multiplied by, from the squares of the sizes of both.

    See [`jaxspark.DOP853`][], which derives it.
    """
    total = of_fifth + SHARE_OF_THIRD * of_third
    usable = (total > 0) & jnp.isfinite(total)
    # An infinite estimate remains one.
    share = jnp.where(usable, jnp.sqrt(of_fifth / jnp.where(usable, total, 1)), 1)
    return SAFETY * share * jnp.minimum(BLIND, 1 + STEEP * share**3)


def dop853_estimate(h: Any, x0: Any, x1: Any, K: Float[Array, "s n"]) -> Float[Array, " n"]:
    """Of order 8: see [`jaxspark.DOP853`][]."""
    fifth = h * weighted(np.asarray(DOP853_FIFTH), K)
    third = h * weighted(np.asarray(DOP853_THIRD), K)
    unit = 1 + jnp.maximum(jnp.abs(x0), jnp.abs(x1))
    return fifth * quotient(jnp.sum((fifth / unit) ** 2), jnp.sum((third / unit) ** 2))
