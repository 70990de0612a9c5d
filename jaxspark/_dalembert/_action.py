"""The discrete Lagrangian and the discrete forces of one step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import Args, BoolScalar, FloatScalar, RealScalarLike, State
from .._system import as_args, as_state, FlatSystem, flatten, LagrangianSystem
from .._tableau import AbstractSparkMethod, SparkTableau
from ._boundary import boundary_derivatives, boundary_stages, Ends, stage_values, unpack


class DiscreteAction(eqx.Module):
    """The action of a method between two configurations.

    - `L_d`: the discrete Lagrangian, `h sum_i b_i L(T_i, Q_i, V_i)` (J s).
    - `D2`, `D4`: its derivatives with respect to `q0` and `q1`, structured as these.
    - `f_minus`, `f_plus`: the discrete forces `f_d^-` and `f_d^+`, structured as `q`: of the
        constraints, and of all forces that are not in the Lagrangian.
    - `v0`, `v1`: the velocities at both ends, structured as `q`.
    - `constraint`: `c(t0, q0, t1, q1)`, the value of the nonholonomic constraints, the same at
        both ends; zero if both configurations lie on one trajectory of the method.
    - `converged`: whether the stages between the two configurations could be found; if not, all
        else is NaN.
    """

    L_d: FloatScalar
    D2: State
    D4: State
    f_minus: State
    f_plus: State
    v0: State
    v1: State
    constraint: Any
    converged: BoolScalar


def require_principle(system: LagrangianSystem, method: AbstractSparkMethod) -> None:
    """Raise, in words, if the principle has not been formulated for such a system."""
    if not isinstance(method, AbstractSparkMethod):
        raise TypeError(f"method must be a SPARK method such as Gauss(2); got {method!r}.")
    if not isinstance(system, LagrangianSystem):
        raise TypeError(
            "The discrete Lagrange-d'Alembert principle needs a jaxspark.LagrangianSystem; got "
            f"{type(system).__name__}."
        )
    if system.holonomic is not None:
        raise ValueError(
            "The discrete Lagrange-d'Alembert principle is one for nonholonomic constraints: "
            "with holonomic ones q1 cannot be chosen freely. State them at the velocity level, "
            "as nonholonomic ones, or use minimal coordinates."
        )


def flat_action(
    system: FlatSystem, lagrangian: Any, tableau: SparkTableau, ends: Ends
) -> tuple[Any, ...]:
    """The fields of [`jaxspark.diagnostics.DiscreteAction`][] as vectors, in their order.

    With `D V_i` the derivatives of the stages, found implicitly, and the forces `S` of the
    constraints and `E` that are not in the Lagrangian,

        f_d^- = -h sum_i b_i h sum_j (a_hat_ij E_j + a_psi_ij S_j)^T D_q0 V_i
        f_d^+ = h sum_i b_i h sum_j ((b_hat_j - a_hat_ij) E_j + (b_psi_j - a_psi_ij) S_j)^T D_q1 V_i

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, Theorem 6.1, with `S = -K^T Psi`.
    """
    dtype = ends.q0.dtype
    h = ends.t1 - ends.t0
    n, m, s = system.nz, system.npsi, tableau.stages
    b, A_hat, b_hat, A_psi, b_psi = (
        jnp.asarray(getattr(tableau, name), dtype)
        for name in ("b", "A_hat", "b_hat", "A_psi", "b_psi")
    )

    def discrete_lagrangian(vector, q0, q1):
        x = unpack(vector, s, n, m)
        at = stage_values(system, tableau, Ends(ends.t0, q0, ends.t1, q1), x)
        return h * jnp.sum(b * jax.vmap(lagrangian)(at.T, at.Q, x.V))

    vector, converged = boundary_stages(system, tableau, ends)
    # Between configurations that no motion joins, there is no action: no number either.
    vector = jnp.where(converged, vector, jnp.nan)
    D_q0, D_q1 = boundary_derivatives(system, tableau, ends, vector)
    L_d, (by_stages, by_q0, by_q1) = jax.value_and_grad(discrete_lagrangian, (0, 1, 2))(
        vector, ends.q0, ends.q1
    )
    D2, D4 = by_q0 + by_stages @ D_q0, by_q1 + by_stages @ D_q1

    x = unpack(vector, s, n, m)
    at = stage_values(system, tableau, ends, x)
    E = at.F - jax.vmap(jax.grad(lagrangian, 1))(at.T, at.Q, x.V)
    before = A_hat @ E + A_psi @ at.S
    after = (b_hat @ E + b_psi @ at.S)[None, :] - before
    D_q0_V, D_q1_V = (D[: s * n].reshape(s, n, n) for D in (D_q0, D_q1))
    f_minus = -(h**2) * jnp.einsum("i,ij,ijk->k", b, before, D_q0_V)
    f_plus = h**2 * jnp.einsum("i,ij,ijk->k", b, after, D_q1_V)
    constraint = system.nonholonomic(ends.t1, ends.q1, x.v1)
    return L_d, D2, D4, f_minus, f_plus, x.v0, x.v1, constraint, converged


def discrete_action(
    system: LagrangianSystem,
    method: AbstractSparkMethod,
    t0: RealScalarLike,
    q0: State,
    t1: RealScalarLike,
    q1: State,
    args: Args = None,
) -> DiscreteAction:
    """The discrete Lagrangian and the discrete forces between two configurations.

    The equations of a step are solved with `q1` given instead of the initial velocity, and
    differentiated implicitly. Off the trajectories of the method the constraints are first
    integrals: `k` has the same value, not zero, at both ends and in the quadrature conditions.

    **Arguments:**

    - `system`: a Lagrangian system without holonomic constraints.
    - `method`: a SPARK method.
    - `t0`, `q0`, `t1`, `q1`: times and configurations of both ends.
    - `args`: passed to the system's functions.

    **Returns:** a [`jaxspark.diagnostics.DiscreteAction`][].

    **Raises:** `TypeError` or `ValueError` if the principle does not apply to the system or the
    method; `ValueError` if `q0` and `q1` differ in shape or dtype.

    ??? cite "Reference"
        L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems*,
        Definition 4.1 and Theorem 6.1.
    """
    require_principle(system, method)
    q0, q1 = as_state("q0", q0), as_state("q1", q1)
    shapes = [jax.tree.map(lambda x: (x.shape, str(x.dtype)), q) for q in (q0, q1)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"q0 and q1 differ in shape or dtype: {shapes[0]}, {shapes[1]}.")
    dtype = jnp.result_type(*jax.tree.leaves(q0))
    t0, t1 = jnp.asarray(t0, dtype), jnp.asarray(t1, dtype)
    return _discrete_action(system, method, t0, q0, t1, q1, as_args(args, dtype))


@eqx.filter_jit
def _discrete_action(system, method, t0, q0, t1, q1, args):
    flat, flat_q0, _ = flatten(system, t0, q0, q0, args)
    flat_q1 = flatten(system, t1, q1, q1, args)[1]

    def lagrangian(t, q, v):
        return system.lagrangian(t, flat.unravel_y(q), flat.unravel_z(v), args)

    ends = Ends(t0, flat_q0, t1, flat_q1)
    action = flat_action(flat, lagrangian, method.tableau, ends)
    L_d, D2, D4, f_minus, f_plus, v0, v1, constraint, converged = action
    D2, D4, f_minus, f_plus, v0, v1 = (
        flat.unravel_y(vector) for vector in (D2, D4, f_minus, f_plus, v0, v1)
    )
    psi = flat.unravel_psi(constraint)
    return DiscreteAction(L_d, D2, D4, f_minus, f_plus, v0, v1, psi, converged)
