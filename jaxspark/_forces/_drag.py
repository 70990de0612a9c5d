"""Drag of a body's points through a fluid, and forces at points as generalised ones."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from .._custom_types import State
from ._floats import as_floats


def drag(
    velocities: Real[ArrayLike, "*n d"],
    coefficients: Real[ArrayLike, "*n"],
    normals: Real[ArrayLike, "*n d"] | None = None,
) -> Float[Array, "*n d"]:
    """Quadratic drag of points that move through a fluid at rest: `-c |u| u`.

    For a slender arm take points along it, Gauss-Legendre points for instance, each with its
    share of `rho C_D width length / 2`, and the normal of the arm: air hardly resists motion
    along the arm (strip theory).

    **Arguments:**

    - `velocities`: `u`, of the points (m/s), shape `(*n, d)`; subtract the wind.
    - `coefficients`: `c`, of each point (N s^2/m^2), shape `(*n,)`.
    - `normals`: unit vectors, shape `(*n, d)`; then only the velocity along these counts,
        `-c |u.n| (u.n) n`. Default: the whole velocity counts.

    **Returns:** the forces (N), of the shape of the velocities.

    Source: S. F. Hoerner, *Fluid-Dynamic Drag* (1965), chapter 3, with the cross-flow principle.
    """
    u, c = as_floats(velocities, coefficients)
    c = c[..., None]
    if normals is not None:
        n = jnp.asarray(normals, u.dtype)
        across = jnp.sum(u * n, -1, keepdims=True)
        return -c * jnp.abs(across) * across * n
    square = jnp.sum(u**2, -1, keepdims=True)
    # The root has no derivative at rest, where that of |u| u is zero.
    moving = square > 0
    speed = jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1)), 0)
    return -c * speed * u


def generalised(
    velocities: Callable[[State], Float[Array, "..."]],
    z: State,
    law: Callable[[Float[Array, "..."]], Float[Array, "..."]],
) -> State:
    """The generalised forces of forces at points, of equal power: `Q = (du/dz)^T F(u)`.

    **Arguments:**

    - `velocities`: the velocities `u` of points (m/s) as a function of the velocities `z` of a
        system, at the time and coordinates at hand; or any rates, of joints for instance.
    - `z`: the velocities of the system, an array or a PyTree.
    - `law`: the forces `F` (N, or N m) at the points as a function of `u`, of its shape; for
        instance a [`jaxspark.forces.drag`][] or a [`jaxspark.forces.friction`][].

    **Returns:** the generalised forces (N, N m), structured as `z`.

    Source: C. Lanczos, *The Variational Principles of Mechanics* (1970), section III.1, on the
    principle of virtual work.
    """
    u, transpose = jax.vjp(velocities, z)
    return transpose(law(u))[0]
