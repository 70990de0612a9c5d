"""The derivative of the stage equations, from the Jacobians of all functions at all stages."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import mix
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._stages import Stages


def linearized_residual(
    system: FlatSystem,
    tableau: SparkTableau,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    h: FloatScalar,
    at: Stages,
) -> Callable[[Stages], Stages]:
    """The derivative of `stage_residual` at some stages, as a function of their changes.

    The same as `jax.linearize` gives. Here the Jacobians are computed, which pays where few
    unknowns meet many products.

    **Arguments:** as for `stage_residual`; `at` are the stages.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, section 2.2: the Jacobian of equations (4)-(7), not modified.
    """
    s, decoupling = tableau.stages, tableau.decoupling
    T = t0 + jnp.asarray([*tableau.c, 1.0], y0.dtype) * h
    T_tilde = t0 + jnp.asarray(tableau.c_tilde, y0.dtype) * h
    Y, Z = at.y, at.z
    inner = T[:s], Y[:s], Z[:s]
    V = Z[:s] if system.v is None else jax.vmap(system.v)(*inner)
    Y_tilde = y0[None, :] + h * mix(tableau.A_bar, V)

    v_y, v_z = _jacobians(system.v, inner, 1, 2)
    p_y, p_z = _jacobians(system.p, (T, Y, Z), 1, 2)
    f_y, f_z = _jacobians(system.f, inner, 1, 2)
    S_y, S_z, S_psi = _jacobians(system.reaction, (*inner, at.psi), 1, 2, 3)
    R_y, R_lam = _jacobians(system.r, (T_tilde, Y_tilde, at.lam), 1, 2)
    (g_y,) = _jacobians(system.g, (T_tilde[1:], Y_tilde[1:]), 1)
    k_y, k_z = _jacobians(system.k, (T, Y, Z), 1, 2)
    rate_y = rate_z = friction = None
    if system.g is not None:
        end = T[s:], Y[s:], Z[s:]
        rate_y, rate_z = _jacobians(system.holonomic_rate, end, 1, 2)
    if system.friction is not None:
        friction = _jacobians(system.friction, (T_tilde, Y_tilde, Z[:s], at.lam), 1, 2, 3)

    def derivative(x: Stages) -> Stages:
        dY, dZ = x.y, x.z
        dV = dZ[:s] if system.v is None else _times(v_y, dY[:s]) + _times(v_z, dZ[:s])
        dY_tilde = h * mix(tableau.A_bar, dV)
        r1 = dY - h * mix(tableau.alpha, dV)

        balance = dZ if system.p is None else _times(p_y, dY) + _times(p_z, dZ)
        dF = _times(f_y, dY[:s]) + _times(f_z, dZ[:s])
        if system.reaction is None:
            forces = mix(tableau.alpha_hat, dF)
        else:
            dS = _times(S_y, dY[:s]) + _times(S_z, dZ[:s]) + _times(S_psi, x.psi)
            if tableau.same_psi:
                forces = mix(tableau.alpha_hat, dF + dS)
            else:
                forces = mix(tableau.alpha_hat, dF) + mix(tableau.alpha_psi, dS)
        if system.r is not None:
            dR = _times(R_y, dY_tilde) + _times(R_lam, x.lam)
            if friction is not None:
                by_y, by_z, by_lam = friction
                dR = dR + _times(by_y, dY_tilde) + _times(by_z, dZ[:s]) + _times(by_lam, x.lam)
            forces = forces + mix(tableau.alpha_tilde, dR)
        r2 = mix(decoupling.Q, balance - h * forces)

        if system.g is None:
            r3 = x.lam
        else:
            g = _times(g_y, dY_tilde[1:]) / h
            rate = _times(rate_y, dY[s:]) + _times(rate_z, dZ[s:])
            r3 = mix(decoupling.Q_check, jnp.concatenate([g, rate]))

        if system.k is None:
            r4 = x.psi
        else:
            r4 = mix(decoupling.Q_tilde, _times(k_y, dY) + _times(k_z, dZ))
        return Stages(r1, r2, r3, r4)

    return derivative


def _jacobians(function: Any, operands: tuple[Array, ...], *argnums: int) -> tuple[Any, ...]:
    """The Jacobians of a function at all nodes, those of one that there is not being `None`."""
    if function is None:
        return (None,) * len(argnums)
    return jax.vmap(jax.jacfwd(function, argnums))(*operands)


def _times(matrices: Any, vectors: Float[Array, "m b"]) -> Float[Array, "m a"]:
    """The product with a matrix `(a, b)` at each node, written out: no kernel of its own."""
    return jnp.sum(matrices * vectors[:, None, :], 2)
