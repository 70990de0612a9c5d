"""Confidence intervals of single estimates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from jaxtyping import Float


def intervals(
    values: Float[np.ndarray, " p"],
    errors: Float[np.ndarray, " p"],
    dof: float | int,
    level: float | int = 0.95,
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Confidence intervals of Student's t distribution, symmetric about the values.

    **Arguments:**

    - `values`: the estimates, shape `(p,)`.
    - `errors`: their standard errors, shape `(p,)`; infinite or NaN ones make such intervals.
    - `dof`: degrees of freedom of the estimate of the noise: number of data minus number of
        unknowns; infinite if the noise is given.
    - `level`: the confidence level, between 0 and 1.

    **Returns:** lower and upper ends, each of shape `(p,)`.

    **Raises:** `ValueError` for a level or degrees of freedom that are not possible.
    """
    half = _quantile(dof, level) * errors
    return values - half, values + half


def intervals_in(
    u: Float[np.ndarray, " p"],
    u_errors: Float[np.ndarray, " p"],
    to_physical: Callable[[Float[np.ndarray, " p"]], Any],
    dof: float | int,
    level: float | int = 0.95,
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Confidence intervals through monotone transforms, which stay inside of bounds.

    The interval of each unconstrained coordinate is symmetric; its ends are mapped to physical
    values. It is for values that depend on one coordinate each.

    **Arguments:**

    - `u`: estimates of the unconstrained coordinates, shape `(p,)`.
    - `u_errors`: their standard errors, shape `(p,)`. Infinite ones lead to the bounds, NaN to NaN.
    - `to_physical`: maps coordinates to physical values, entry by entry, rising or falling.
    - `dof`, `level`: as for [`jaxspark.fit.intervals`][].

    **Returns:** lower and upper ends of the physical values, each of shape `(p,)`.

    **Raises:** `ValueError` for a level or degrees of freedom that are not possible.
    """
    ends = intervals(u, u_errors, dof, level)
    unknown = np.isnan(u_errors)
    with np.errstate(over="ignore", divide="ignore"):
        mapped = [np.asarray(to_physical(np.where(unknown, u, end)), np.float64) for end in ends]
    low, high = np.minimum(*mapped), np.maximum(*mapped)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _quantile(dof: float | int, level: float | int) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, for instance 0.95; got {level}.")
    if not dof > 0:
        raise ValueError(f"dof must be positive: more data than unknowns; got {dof}.")
    return float(scipy.stats.t.ppf(0.5 + level / 2, dof))
