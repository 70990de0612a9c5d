"""The residuals of the equations of motion and of the constraints."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import velocity_constraints
from .._custom_types import FloatScalar
from .._system import FlatSystem


Unknowns = Float[Array, " unknowns"]


class Residuals(eqx.Module):
    """The residuals, without multipliers.

    - `kinematic`: `r1 = q' - v`.
    - `dynamic`: `r2 = M v' - f`.
    - `velocity`: `[g_t + g_q v; k]`.
    - `position`: `g`.
    """

    kinematic: Float[Array, " n"]
    dynamic: Float[Array, " n"]
    velocity: Float[Array, " m"]
    position: Float[Array, " nlam"]


def parts(system: FlatSystem, x: Unknowns) -> tuple[Array, Array, Array, Array]:
    """`(q, v, mu, lam)`: the coordinates, velocities and multipliers in a vector of unknowns.

    `mu` belongs to the holonomic constraints; `lam` to these and the nonholonomic ones.
    """
    n = system.ny
    q, v, mu, lam = jnp.split(x, [n, 2 * n, 2 * n + system.nlam])
    return q, v, mu, lam


def residuals(
    system: FlatSystem, t: FloatScalar, x: Unknowns, rate: Unknowns, force_gradient: bool = True
) -> Residuals:
    """The residuals at the unknowns `x` with the discrete derivative `rate`.

    **Arguments:**

    - `force_gradient`: whether the derivative of the forces with respect to the coordinates is
        seen. Without it matrices are wrong, on purpose.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.12) to (2.14). With
    momenta `p(t, q, v)`, `M v'` is their derivative along the motion, and `f` what changes them.
    """
    q, v, _, _ = parts(system, x)
    qdot, vdot, _, _ = parts(system, rate)
    direction = (jnp.ones_like(t), v, vdot)
    _, momentum_rate = jax.jvp(system.momentum, (t, q, v), direction)
    seen = q if force_gradient else jax.lax.stop_gradient(q)
    return Residuals(
        kinematic=qdot - v,
        dynamic=momentum_rate - system.f(t, seen, v),
        velocity=velocity_constraints(system, t, q, v),
        position=system.holonomic(t, q),
    )


def stabilised(
    system: FlatSystem,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    at: tuple[FloatScalar, Array] | None = None,
    force_gradient: bool = True,
) -> Unknowns:
    """The stabilised index-2 equations `[r1 + G^T mu; r2 + C^T lam; velocity; position]`.

    `G = g_q` and `C = [g_q; k_v]` are taken at the time and the coordinates `at`, by default
    those of the state. Elsewhere these are the CM equations, with multipliers.

    Source: C. W. Gear, G. K. Gupta & B. Leimkuhler, *Automatic integration of Euler-Lagrange
    equations with constraints*, J. Comput. Appl. Math. 12 (1985); J. Yen & L. Petzold, as above,
    equations (1.3) and (3.1).
    """
    q, v, mu, lam = parts(system, x)
    found = residuals(system, t, x, rate, force_gradient)
    time, along = (t, q) if at is None else at
    _, pull = jax.vjp(lambda v: velocity_constraints(system, time, along, v), v)
    padded = jnp.concatenate([mu, jnp.zeros(system.npsi, x.dtype)])
    return jnp.concatenate([
        found.kinematic + pull(padded)[0],
        found.dynamic + pull(lam)[0],
        found.velocity,
        found.position,
    ])  # fmt: skip
