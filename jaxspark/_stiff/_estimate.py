"""The error of a stiff step, filtered, measured on independent coordinates."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._kkt import lu_factors
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._residual import drift, GGLStages


def independent(C: Float[Array, "m nz"]) -> Bool[Array, " nz"]:
    """Which velocities the constraints leave free: those that are no pivots of `C^T`.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.2) and (2.3).
    """
    m, nz = C.shape
    if m == 0:
        return jnp.ones(nz, bool)
    _, _, order = jax.lax.linalg.lu(C.T)
    return jnp.ones(nz, bool).at[order[:m]].set(False)


def raw_error(
    coefficients: GGLCoefficients,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    stages: GGLStages,
    rates: tuple[Array, Array],
) -> tuple[Float[Array, " ny"], Float[Array, " nz"]]:
    """The difference to the embedded method, which uses the derivatives at the start.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.18).
    """
    weights = jnp.asarray(coefficients.error, y0.dtype)[:, None]
    ydot, zdot = rates
    return (
        h * coefficients.gamma * ydot + jnp.sum(weights * (stages.y - y0[None, :]), 0),
        h * coefficients.gamma * zdot + jnp.sum(weights * (stages.z - z0[None, :]), 0),
    )


def error_filter(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t: FloatScalar,
    h: FloatScalar,
    stages: GGLStages,
):
    """`K^{-1} [b e_y; b M e_z; 0]`, which takes from an error what is stiff or not admissible.

    `K` is the matrix of the stage equations of the implicit Euler method with the step size
    `gamma h`, at the end of the step; `b = 1 / (gamma h)`.

    **Returns:** a function of `(e_y, e_z)`.

    Source: L. F. Shampine's filter, E. Hairer & G. Wanner, *Solving Ordinary Differential
    Equations II*, IV.8 (8.19).
    """
    ny, nz, nlam, npsi = system.ny, system.nz, system.nlam, system.npsi
    b = 1 / (coefficients.gamma * h)
    y1, z1, lam1, psi1, mu1 = (x[-1] for x in jax.tree.leaves(stages))
    sizes = [ny, ny + nz, ny + nz + nlam, ny + nz + nlam + npsi]

    def euler(x):
        y, z, lam, psi, mu = jnp.split(x, sizes)
        moved = b * (y - y1), b * (system.momentum(t, y, z) - momentum)
        return jnp.concatenate([
            moved[0] - drift(system, t, y, z, mu),
            moved[1] - system.force(t, y, z, lam, psi),
            system.holonomic_rate(t, y, z),
            system.nonholonomic(t, y, z),
            system.holonomic(t, y),
        ])  # fmt: skip

    momentum = system.momentum(t, y1, z1)
    at = jnp.concatenate([y1, z1, lam1, psi1, jnp.zeros_like(mu1)])
    factors = lu_factors(jax.jacfwd(euler)(at))
    _, push = jax.linearize(lambda z: system.momentum(t, y1, z), z1)

    def apply(error):
        e_y, e_z = error
        zeros = jnp.zeros(2 * nlam + npsi, e_y.dtype)
        rhs = jnp.concatenate([b * e_y, b * push(e_z), zeros])
        x = factors.solve(rhs[None, :])[0]
        return x[:ny], x[ny : ny + nz]

    return apply
