"""The stages of a step between two given configurations."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import newton_root, preconditioned_solve
from .._kkt import inverse
from .._system import FlatSystem
from .._tableau import SparkTableau


class BoundaryStages(NamedTuple):
    """The unknowns of equations (6.1), given both ends: velocities and multipliers.

    Shapes `(s, n)`, `(s, m)`, `(n,)` and `(n,)`.
    """

    V: Float[Array, "s n"]
    Psi: Float[Array, "s m"]
    v0: Float[Array, " n"]
    v1: Float[Array, " n"]


class Ends(NamedTuple):
    """Times and configurations of both ends; `q` of shape `(n,)`."""

    t0: FloatScalar
    q0: Float[Array, " n"]
    t1: FloatScalar
    q1: Float[Array, " n"]


class StageValues(eqx.Module):
    """What the stages are made of, at each stage: times, coordinates, forces.

    `F` is `L_q` and what other forces act, `S` the constraint force.
    """

    T: Float[Array, " s"]
    Q: Float[Array, "s n"]
    F: Float[Array, "s n"]
    S: Float[Array, "s n"]


def stage_values(
    system: FlatSystem, tableau: SparkTableau, ends: Ends, x: BoundaryStages
) -> StageValues:
    """Coordinates from equation (6.1a), and the forces there."""
    dtype = ends.q0.dtype
    h = ends.t1 - ends.t0
    T = ends.t0 + jnp.asarray(tableau.c, dtype) * h
    Q = ends.q0[None, :] + h * (jnp.asarray(tableau.A, dtype) @ x.V)
    F = jax.vmap(system.f)(T, Q, x.V)
    S = jax.vmap(system.reaction_force)(T, Q, x.V, x.Psi)
    return StageValues(T, Q, F, S)


def boundary_stages(
    system: FlatSystem, tableau: SparkTableau, ends: Ends
) -> tuple[Float[Array, " k"], BoolScalar]:
    """Solve equations (6.1) for the stages, `v0` and `v1`, with `q0` and `q1` given.

    Between any two configurations the constraints are first integrals, `k = k(t0, q0, v0)`
    instead of `k = 0`, as they are of the underlying forced system (2.6): of the motions with
    `k = 0` too few start at `q0` to reach every `q1`. On a trajectory it is the same.

    **Returns:** the stages as a vector, see [`unpack`][], differentiable with respect to
    everything (the start of the iteration if that did not converge), and whether it did.

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, equations (6.1), with `omega_ij = b_j P_{i-1}(2 c_j - 1)` (Legendre).
    """
    n, m, s = system.nz, system.npsi, tableau.stages
    slope = (ends.q1 - ends.q0) / (ends.t1 - ends.t0)
    guess = jnp.concatenate([jnp.tile(slope, s), jnp.zeros(s * m, slope.dtype), slope, slope])
    residual = _boundary_equations(tableau, n, m)
    root = newton_root(residual, (system, ends), guess, inverse)
    return root.value, root.converged


def boundary_derivatives(
    system: FlatSystem, tableau: SparkTableau, ends: Ends, x: Float[Array, " k"]
) -> tuple[Float[Array, "k n"], Float[Array, "k n"]]:
    """The derivatives of the stages with respect to `q0` and `q1`, of the other end fixed.

    By the implicit function theorem, `-J^{-1} J_q`, with the equations linearised once.
    """
    equations = _boundary_equations(tableau, system.nz, system.npsi)

    def residual(x, q0, q1):
        return equations(x, (system, Ends(ends.t0, q0, ends.t1, q1)))

    J, J_q0, J_q1 = jax.jacfwd(residual, (0, 1, 2))(x, ends.q0, ends.q1)
    inverted = inverse(jax.lax.stop_gradient(J))

    def column(rhs):
        return preconditioned_solve(
            lambda v: J @ v,
            lambda v: inverted @ v,
            lambda v: inverted.T @ v,
            rhs,
            (1.0,),
            exact=True,
        )

    D = -jax.vmap(column, 1, 1)(jnp.concatenate([J_q0, J_q1], 1))
    return D[:, : system.nz], D[:, system.nz :]


def unpack(x: Float[Array, " k"], s: int, n: int, m: int) -> BoundaryStages:
    """The stages of a vector `[V, Psi, v0, v1]`."""
    V, Psi, rest = x[: s * n], x[s * n : s * (n + m)], x[s * (n + m) :]
    return BoundaryStages(V.reshape(s, n), Psi.reshape(s, m), rest[:n], rest[n:])


def _boundary_equations(tableau: SparkTableau, n: int, m: int) -> Callable[..., Array]:
    s = tableau.stages

    def residual(x, parameters):
        system, ends = parameters
        dtype = ends.q0.dtype
        stages = unpack(x, s, n, m)
        h = ends.t1 - ends.t0
        at = stage_values(system, tableau, ends, stages)
        p0 = system.momentum(ends.t0, ends.q0, stages.v0)
        p1 = system.momentum(ends.t1, ends.q1, stages.v1)
        P = jnp.concatenate([jax.vmap(system.momentum)(at.T, at.Q, stages.V), p1[None, :]])
        hat, psi = (jnp.asarray(a, dtype) for a in (tableau.alpha_hat, tableau.alpha_psi))
        balance = P - p0[None, :] - h * (hat @ at.F + psi @ at.S)
        reach = jnp.asarray(tableau.b, dtype) @ stages.V - (ends.q1 - ends.q0) / h
        k = jax.vmap(system.nonholonomic)(at.T, at.Q, stages.V)
        k0 = system.nonholonomic(ends.t0, ends.q0, stages.v0)
        k1 = system.nonholonomic(ends.t1, ends.q1, stages.v1)
        N = jnp.asarray(tableau.decoupling.N, dtype)
        conditions = N @ (jnp.concatenate([k, k1[None, :]]) - k0[None, :])
        return jnp.concatenate([reach, balance.reshape(-1), conditions.reshape(-1)])

    return residual
