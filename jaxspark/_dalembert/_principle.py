"""The nonholonomically constrained discrete Euler-Lagrange equations."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import Args, State
from .._system import as_args, as_state, LagrangianSystem
from .._tableau import AbstractSparkMethod
from ._action import _discrete_action, DiscreteAction, require_principle


class DiscreteEulerLagrange(eqx.Module):
    """How well a trajectory satisfies the discrete principle.

    - `residual`: that of equation (4.5a) at each inner time, structured as `q`, with a leading axis
        of length `n - 2`. It has the unit of a momentum.
    - `constraint`: `c` of equation (4.5b) for each step, the nonholonomic constraints with the
        velocity that follows from its two configurations; a leading axis of length `n - 1`.
        Zero along a trajectory that starts consistently.
    - `actions`: a [`jaxspark.diagnostics.DiscreteAction`][] with a leading axis for the steps.
    """

    residual: State
    constraint: Any
    actions: DiscreteAction


def discrete_euler_lagrange(
    system: LagrangianSystem,
    method: AbstractSparkMethod,
    ts: Any,
    qs: State,
    args: Args = None,
) -> DiscreteEulerLagrange:
    r"""The residual of the discrete Euler-Lagrange equations along a trajectory.

        D4 L_d(t_{k-1}, q_{k-1}, t_k, q_k) + D2 L_d(t_k, q_k, t_{k+1}, q_{k+1})
            + f_d^+(t_{k-1}, q_{k-1}, t_k, q_k) + f_d^-(t_k, q_k, t_{k+1}, q_{k+1}) = 0
        c(t_{k-1}, q_{k-1}, t_k, q_k) = c(t_k, q_k, t_{k+1}, q_{k+1})

    Nothing but the configurations is used. A method whose coefficients satisfy the conditions
    (6.2), `method.tableau.lagrange_dalembert`, makes the residual vanish to rounding error, which
    grows as the steps get smaller; others do not.

    **Arguments:**

    - `system`: a Lagrangian system without holonomic constraints.
    - `method`: the SPARK method that made the trajectory, or another.
    - `ts`, `qs`: the times of all its steps, shape `(n,)`, and the coordinates there, with a
        leading axis of length `n`: for instance `solution.ts, solution.ys` of a
        [`jaxspark.rollout`][] with `save_every=1`.
    - `args`: passed to the system's functions.

    **Returns:** a [`jaxspark.diagnostics.DiscreteEulerLagrange`][].

    **Raises:** `TypeError` or `ValueError` if the principle does not apply to the system or the
    method; `ValueError` for fewer than three times, or another number of coordinates.

    ??? cite "Reference"
        L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems*,
        equations (4.5).
    """
    require_principle(system, method)
    qs = as_state("qs", qs)
    ts = jnp.asarray(ts, jnp.result_type(*jax.tree.leaves(qs)))
    if ts.ndim != 1 or ts.shape[0] < 3:
        raise ValueError(f"ts must hold three times or more; its shape is {ts.shape}.")
    for leaf in jax.tree.leaves(qs):
        if leaf.ndim == 0 or leaf.shape[0] != ts.shape[0]:
            raise ValueError(f"ts has {ts.shape[0]} times, but qs a leaf of shape {leaf.shape}.")
    return _euler_lagrange(system, method, ts, qs, as_args(args, ts.dtype))


@eqx.filter_jit
def _euler_lagrange(system, method, ts, qs, args):
    before, after = (jax.tree.map(lambda x: x[rows], qs) for rows in (slice(-1), slice(1, None)))

    def action(t0, q0, t1, q1):
        return _discrete_action(system, method, t0, q0, t1, q1, args)

    actions = jax.vmap(action)(ts[:-1], before, ts[1:], after)

    def sums(D4, D2, f_plus, f_minus):
        return D4[:-1] + D2[1:] + f_plus[:-1] + f_minus[1:]

    residual = jax.tree.map(sums, actions.D4, actions.D2, actions.f_plus, actions.f_minus)
    return DiscreteEulerLagrange(residual, actions.constraint, actions)
