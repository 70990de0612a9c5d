"""The verdict on initial values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._consistent import ConstraintResiduals, sound_mass
from .._custom_types import FloatScalar
from .._results import RESULTS
from .._system import FlatSystem


def largest(x: Array) -> FloatScalar:
    """The largest absolute value, through which no derivative flows."""
    return jax.lax.stop_gradient(jnp.max(jnp.abs(x), initial=0))


def initial_result(
    system: FlatSystem,
    t0: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    initial: ConstraintResiduals,
    tolerance: float | None,
) -> RESULTS:
    """Whether initial values are finite and, unless the tolerance is `None`, consistent.

    And whether the mass matrix is one there.
    """
    result = RESULTS.where(
        sound_mass(system, t0, y, z), RESULTS.successful, RESULTS.mass_not_positive
    )
    g, gdot, k = initial.g, initial.gdot, initial.k
    in_y, in_z = largest(y), largest(z)
    if tolerance is not None:
        bound = tolerance * (1 + jnp.maximum(in_y, in_z))
        consistent = largest(g) <= tolerance * (1 + in_y)
        consistent = consistent & (largest(gdot) <= bound) & (largest(k) <= bound)
        result = RESULTS.where(consistent, result, RESULTS.inconsistent_initial_values)
    finite = jnp.isfinite(in_y + in_z + largest(g) + largest(gdot) + largest(k))
    return RESULTS.where(finite & jnp.isfinite(t0), result, RESULTS.nonfinite)


def consistency_tolerance(consistency_tol: Any, dtype: Any) -> float | None:
    """The consistency tolerance with its default filled in."""
    if consistency_tol is None:
        return None
    if isinstance(consistency_tol, str) and consistency_tol == "auto":
        return float(jnp.finfo(dtype).eps) ** 0.5
    if isinstance(consistency_tol, (float, int, np.floating)):
        if not isinstance(consistency_tol, bool) and consistency_tol >= 0:
            return float(consistency_tol)
    raise ValueError(
        f'consistency_tol must be a number >= 0, "auto" or None; got {consistency_tol!r}.'
    )
