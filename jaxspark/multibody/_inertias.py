"""Inertias of bodies from ten free numbers, any of which are those of a body."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..fit._inertia import LogCholesky, UPPER
from ..fit._inertia_check import checked_body


# In kg and m.
PLAIN = LogCholesky(1.0, 1.0, 1.0)


def _floating(value: Any) -> Array:
    value = jnp.asarray(value)
    return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(float)


def from_log_cholesky(u: ArrayLike) -> dict[str, Float[Array, "..."]]:
    """Mass, centre of mass and inertia of the body that ten free numbers are.

    The pseudo-inertia is `U U^T` with a triangular matrix whose diagonal is positive: every vector
    is a body, with a positive mass and moments of inertia that satisfy the triangle inequality.
    Steps along gradients by `u` lead from bodies to bodies.

    **Arguments:**

    - `u`: of one body or of many, shape `(*n, 10)`: half the logarithm of the mass (of kg); the
        centre of mass (m); and the entries of the triangle, row by row, of its diagonal the
        logarithms (of m).

    **Returns:** a dictionary with `mass` (kg), `com` (m) and `inertia` about the centre of mass
    (kg m^2), shapes `(*n,)`, `(*n, 3)` and `(*n, 3, 3)`: for one body what `parameters["bodies"]`
    of a [`jaxspark.multibody.Mechanism`][] has of each.

    **Raises:** `ValueError` if the last axis does not have ten numbers.

    Source: C. Rucker & P. M. Wensing, *Smooth parameterization of rigid-body inertia*, IEEE
    Robotics and Automation Letters 7 (2022).
    """
    u = _floating(u)
    if u.ndim == 0 or u.shape[-1] != 10:
        raise ValueError(f"The inertia of a body is ten numbers, the last axis; got {u.shape}.")
    values = jnp.vectorize(PLAIN.forward, signature="(k)->(k)")(u)
    upper = jnp.zeros((*values.shape[:-1], 3, 3), values.dtype)
    upper = upper.at[(..., *UPPER)].set(values[..., 4:])
    inertia = upper + jnp.swapaxes(jnp.triu(upper, 1), -1, -2)
    return {"mass": values[..., 0], "com": values[..., 1:4], "inertia": inertia}


def log_cholesky(mass: ArrayLike, com: Any, inertia: Any) -> Float[Array, "*n 10"]:
    """The ten free numbers of a body; [`jaxspark.multibody.from_log_cholesky`][] is the inverse.

    **Arguments:**

    - `mass`: (kg), shape `(*n,)`: of one body or of many.
    - `com`: centres of mass in the bodies' frames (m), shape `(*n, 3)`.
    - `inertia`: about the centres of mass, in axes of these frames (kg m^2), shape `(*n, 3, 3)`.

    **Returns:** the numbers, shape `(*n, 10)`.

    **Raises:** `ValueError` for a body that cannot be, or has no volume and so is at the limit of
    what can; under `jax.jit` the numbers are not finite then.

    Source: C. Rucker & P. M. Wensing, *Smooth parameterization of rigid-body inertia*, IEEE
    Robotics and Automation Letters 7 (2022).
    """
    mass, com, inertia = (_floating(x) for x in (mass, com, inertia))
    if com.shape != (*mass.shape, 3) or inertia.shape != (*mass.shape, 3, 3):
        raise ValueError(
            "com and inertia of bodies have one and two axes of three after those of mass; their "
            f"shapes are {com.shape}, {inertia.shape} and {mass.shape}."
        )
    if not any(isinstance(x, jax.core.Tracer) for x in (mass, com, inertia)):
        for at in np.ndindex(mass.shape):
            checked_body("log_cholesky", mass[at], com[at], inertia[at], 3)
    values = jnp.concatenate([mass[..., None], com, inertia[(..., *UPPER)]], -1)
    return jnp.vectorize(PLAIN.inverse, signature="(k)->(k)")(values)
