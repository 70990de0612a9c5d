"""The verdict on initial values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._consistent import ConstraintResiduals, residuals_and_jacobian, sound_mass
from .._custom_types import BoolScalar, FloatScalar
from .._implicit import stop_gradient
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
    tolerance: float | None,
) -> tuple[ConstraintResiduals, RESULTS]:
    """The residuals of initial values, and whether these are finite and, unless the tolerance is
    `None`, consistent, and whether the mass matrix is one there.

    No derivative flows through it.
    """
    values, C = residuals_and_jacobian(system, t0, y, z)
    initial, C = stop_gradient((ConstraintResiduals(*values), C))
    sound = sound_mass(system, t0, y, z, C)
    result = RESULTS.where(sound, RESULTS.successful, RESULTS.mass_not_positive)
    if tolerance is not None:
        consistent = are_consistent(y, z, initial, tolerance)
        result = RESULTS.where(consistent, result, RESULTS.inconsistent_initial_values)
    finite = jnp.isfinite(
        sum((largest(x) for x in (z, initial.g, initial.gdot, initial.k)), largest(y))
    )
    return initial, RESULTS.where(finite & jnp.isfinite(t0), result, RESULTS.nonfinite)


def are_consistent(
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    residuals: ConstraintResiduals,
    tolerance: float,
) -> BoolScalar:
    """Whether a state is on the constraints."""
    in_y, in_z = largest(y), largest(z)
    bound = tolerance * (1 + jnp.maximum(in_y, in_z))
    consistent = largest(residuals.g) <= tolerance * (1 + in_y)
    return consistent & (largest(residuals.gdot) <= bound) & (largest(residuals.k) <= bound)


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
