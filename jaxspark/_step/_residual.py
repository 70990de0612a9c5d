"""The nonlinear equations of one step, in the form that Newton's iteration decouples."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import mix
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._stages import Stages


def stage_residual(
    system: FlatSystem,
    tableau: SparkTableau,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    positions: bool = True,
) -> Callable[[Stages], Stages]:
    """The residual of equations (4)-(7) as a function of the stages.

    **Arguments:**

    - `system`, `tableau`: what is solved, and by which method.
    - `t0`, `y0`, `z0`, `h`: where the step starts, and its size (not zero).
    - `positions`: whether equations (4) are evaluated; their residuals are zero otherwise.

    **Returns:** a function from [`jaxspark.methods.Stages`][] to residuals of the same shapes.

    **Raises:** `ValueError` if the system has friction that needs the velocities where the
    holonomic constraints hold, and the method has none there.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, equations (4)-(7), and, for coefficients of their own for the
        forces of nonholonomic constraints, *Lagrange-d'Alembert SPARK integrators for
        nonholonomic Lagrangian systems*, equations (6.1).
    """
    s, decoupling = tableau.stages, tableau.decoupling
    dtype = y0.dtype
    # Stage times T_i and t1, and the times of the constraint nodes.
    nodes = jnp.asarray([*tableau.c, 1.0], dtype)
    T = t0 + nodes * h
    T_tilde = t0 + jnp.asarray(tableau.c_tilde, dtype) * h
    p0 = system.momentum(t0, y0, z0)
    if system.friction is not None and not tableau.nodes_are_stages:
        raise ValueError(
            "friction(t, y, z, lam, args) needs the velocities where the holonomic constraints "
            f"hold, and {tableau.name} has none there. Use jaxspark.Lobatto."
        )

    def residual(x: Stages) -> Stages:
        Y, Z = x.y, x.z
        V = Z[:s] if system.v is None else jax.vmap(system.v)(T[:s], Y[:s], Z[:s])
        Y_tilde = y0[None, :] + h * mix(tableau.A_bar, V)

        if positions:
            r1 = Y - y0[None, :] - h * mix(tableau.alpha, V)
        else:
            r1 = jnp.zeros_like(Y)

        P = Z if system.p is None else jax.vmap(system.p)(T, Y, Z)
        F = jax.vmap(system.f)(T[:s], Y[:s], Z[:s])
        balance = P - p0[None, :]
        if system.reaction is None:
            balance = balance - h * mix(tableau.alpha_hat, F)
        else:
            S = jax.vmap(system.reaction)(T[:s], Y[:s], Z[:s], x.psi)
            if tableau.same_psi:
                balance = balance - h * mix(tableau.alpha_hat, F + S)
            else:
                forces = mix(tableau.alpha_hat, F) + mix(tableau.alpha_psi, S)
                balance = balance - h * forces
        if system.r is not None:
            R = jax.vmap(system.r)(T_tilde, Y_tilde, x.lam)
            if system.friction is not None:
                R = R + jax.vmap(system.friction)(T_tilde, Y_tilde, Z[:s], x.lam)
            balance = balance - h * mix(tableau.alpha_tilde, R)
        r2 = mix(decoupling.Q, balance)

        if system.g is None:
            r3 = x.lam
        else:
            g = jax.vmap(system.g)(T_tilde[1:], Y_tilde[1:]) / h
            rate = system.holonomic_rate(T[s], Y[s], Z[s])
            r3 = mix(decoupling.Q_check, jnp.concatenate([g, rate[None, :]]))

        if system.k is None:
            r4 = x.psi
        else:
            r4 = mix(decoupling.Q_tilde, jax.vmap(system.k)(T, Y, Z))
        return Stages(r1, r2, r3, r4)

    return residual
