"""The stage equations of the stabilised index-2 form, and the matrix of the error estimate."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import mix
from .._system import FlatSystem
from ._coefficients import GGLCoefficients


class GGLStages(eqx.Module):
    """The unknowns of a step; residuals have the same shapes.

    - `y`, `z`: coordinates and velocities at the stages.
    - `lam`, `psi`: multipliers of the holonomic and the nonholonomic constraints.
    - `mu`: multipliers that keep the coordinates on the holonomic constraints while the
        velocities are kept on their derivatives.
    """

    y: Float[Array, "s ny"]
    z: Float[Array, "s nz"]
    lam: Float[Array, "s nlam"]
    psi: Float[Array, "s npsi"]
    mu: Float[Array, "s nlam"]


def drift(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    mu: Float[Array, " nlam"],
) -> Float[Array, " ny"]:
    """`v(t, y, z - C^T mu)` with `C = g_y v_z`: the velocity, moved off the constraints by `mu`."""
    if system.g is None:
        return system.velocity(t, y, z)
    _, pull = jax.vjp(lambda z: system.holonomic_rate(t, y, z), z)
    return system.velocity(t, y, z - pull(mu)[0])


def stage_equations(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    x: GGLStages,
) -> GGLStages:
    """The residual of the stage equations.

        sum_j W_ij (Y_j - y0) / h = v(Y_i, Z_i - C_i^T Mu_i)
        sum_j W_ij (p_j - p0) / h = f_i + r_i + reaction_i
        0 = g_i,  0 = gdot_i,  0 = k_i

    Source: C. W. Gear, G. K. Gupta & B. Leimkuhler, *Automatic integration of Euler-Lagrange
    equations with constraints*, J. Comput. Appl. Math. 12 (1985); J. Yen & L. Petzold, *An
    efficient Newton-type iteration for the numerical solution of highly oscillatory constrained
    multibody dynamic systems*, equations (2.5), with a Runge-Kutta method in place of BDF.
    """
    T = t0 + jnp.asarray(coefficients.c, y0.dtype) * h
    moved = jax.vmap(system.momentum)(T, x.y, x.z) - system.momentum(t0, y0, z0)[None, :]
    forces = jax.vmap(system.force)(T, x.y, x.z, x.lam, x.psi)
    velocities = jax.vmap(lambda *at: drift(system, *at))(T, x.y, x.z, x.mu)
    return GGLStages(
        y=mix(coefficients.W, x.y - y0[None, :]) / h - velocities,
        z=mix(coefficients.W, moved) / h - forces,
        lam=jax.vmap(system.holonomic_rate)(T, x.y, x.z),
        psi=jax.vmap(system.nonholonomic)(T, x.y, x.z),
        mu=jax.vmap(system.holonomic)(T, x.y),
    )
