"""Multipliers of full order, from the index-1 form of the equations."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar, State
from .._implicit import newton_root
from .._kkt import (
    BlockLinearSolver,
    inverse,
    LinearSolver,
    saddle_solve,
    select_linear_solver,
)
from .._system import AbstractConstrainedSystem, as_args, FlatSystem, flatten, over_times
from ._residuals import constraint_jacobian, velocity_constraints


class Multipliers(eqx.Module):
    """What the constraints do at a consistent state.

    If they are ideal, their forces on the mechanism are `-(g_y v_z)^T lam - k_z^T psi`: mind the
    signs.

    - `lam`: holonomic multipliers, structured as what `g` returns.
    - `psi`: nonholonomic multipliers, structured as what `k` returns.
    - `zdot`: the accelerations, structured as `z`.
    - `converged`: whether the equations for them could be solved.
    """

    lam: Any
    psi: Any
    zdot: State
    converged: Any


def flat_multipliers(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    linear_solver: LinearSolver | None = None,
) -> tuple[Float[Array, " nz"], Float[Array, " nlam"], Float[Array, " npsi"], Any]:
    """`(zdot, lam, psi, converged)`; see [`jaxspark.multipliers`][]."""
    nz, nlam, dtype = system.nz, system.nlam, y.dtype
    if system.ideal or system.redundant:
        solver = select_linear_solver(system, linear_solver)
        zdot, multipliers = accelerations(system, solver, t, y, z)
        converged = jnp.all(jnp.isfinite(zdot)) & jnp.all(jnp.isfinite(multipliers))
        return zdot, multipliers[:nlam], multipliers[nlam:], converged

    def index_one(x, parameters):
        system, t, y, z = parameters
        zdot, lam, psi = x[:nz], x[nz : nz + nlam], x[nz + nlam :]
        at, direction = (t, y, z), (jnp.ones_like(t), system.velocity(t, y, z), zdot)
        _, momentum_rate = jax.jvp(system.momentum, at, direction)
        equations = [momentum_rate - system.force(t, y, z, lam, psi)]
        if system.g is not None:
            equations.append(jax.jvp(system.holonomic_rate, at, direction)[1])
        if system.k is not None:
            equations.append(jax.jvp(system.nonholonomic, at, direction)[1])
        return jnp.concatenate(equations)

    guess = jnp.zeros(nz + nlam + system.npsi, dtype)
    root = newton_root(index_one, (system, t, y, z), guess, inverse)
    # Where constraints are redundant, only some combinations of them are determined: none.
    x = jnp.where(root.converged, root.value, jnp.nan)
    return x[:nz], x[nz : nz + nlam], x[nz + nlam :], root.converged


def accelerations(
    system: FlatSystem,
    solver: LinearSolver,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
) -> tuple[Float[Array, " nz"], Float[Array, " m"]]:
    """`z'` and all multipliers, of ideal constraints, by one linear system.

    Or of forces that are linear in the multipliers, of systems of redundant constraints.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    rhs = force_terms(system, t, y, z)
    if isinstance(solver, BlockLinearSolver):
        saddle = solver.saddle(system, t, y, z)
        bias = saddle.values.bias
        if bias is None:
            bias = bias_terms(system, t, y, z)
        if not system.ideal:
            none = jnp.zeros(system.nlam, y.dtype), jnp.zeros(system.npsi, y.dtype)
            rhs = rhs + system.constraint_force(t, y, z, none[0])
            rhs = rhs + system.reaction_force(t, y, z, none[1])
        zdot, multipliers = saddle.solve(rhs, -bias, or_nan=True)
        return zdot, saddle.of_minimum_norm(multipliers)
    M, C = system.mass(t, y, z), constraint_jacobian(system, t, y, z)
    bias = bias_terms(system, t, y, z)
    zdot, multipliers = saddle_solve(M, C, rhs[:, None], -bias[:, None], in_loops=True)
    return zdot[:, 0], multipliers[:, 0]


def force_terms(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Float[Array, " nz"]:
    """`f` less what in `d/dt p` does not depend on `z'`.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    rhs = jnp.asarray(system.f(t, y, z))
    if system.p is None:
        return rhs
    at, along = (t, y, z), (jnp.ones_like(t), system.velocity(t, y, z), jnp.zeros_like(z))
    return rhs - jax.jvp(system.momentum, at, along)[1]


def bias_terms(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Float[Array, " m"]:
    """What in the time derivatives of `[gdot; k]` does not depend on `z'`."""
    at, along = (t, y, z), (jnp.ones_like(t), system.velocity(t, y, z), jnp.zeros_like(z))
    return jax.jvp(lambda t, y, z: velocity_constraints(system, t, y, z), at, along)[1]


def multipliers(
    system: AbstractConstrainedSystem,
    t: Any,
    y: State,
    z: State,
    args: Args = None,
    *,
    linear_solver: LinearSolver | None = None,
) -> Multipliers:
    r"""The multipliers and accelerations at a consistent state, as accurate as the state.

    Solves the index-1 system `d/dt p = f + r + reaction`, `d/dt gdot = 0`, `d/dt k = 0` for
    `(z', lam, psi)`; time derivatives are forward derivatives along the motion.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`: a time and a consistent state (see [`jaxspark.project`][]); or a vector of
        times, shape `(n,)`, and states with a leading axis of length `n`.
    - `args`: passed to the system's functions.
    - `linear_solver`: for systems of many blocks, as for [`jaxspark.solve`][].

    **Returns:** a [`jaxspark.diagnostics.Multipliers`][], with a leading axis for a vector of
    times; NaN where they are not determined.

    **Raises:** `ValueError` and `TypeError` for invalid input.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1
    (1.46); L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, equation (2), for solvability.
    """

    def at(t, y, z):
        return _multipliers(system, t, y, z, as_args(args, t.dtype), linear_solver)

    return over_times(at, t, y, z)


@eqx.filter_jit
def _multipliers(
    system: AbstractConstrainedSystem,
    t: FloatScalar,
    y: State,
    z: State,
    args: Args,
    linear_solver: LinearSolver | None,
) -> Multipliers:
    flat, flat_y, flat_z = flatten(system, t, y, z, args)
    zdot, lam, psi, converged = flat_multipliers(flat, t, flat_y, flat_z, linear_solver)
    return Multipliers(
        flat.unravel_lam(lam), flat.unravel_psi(psi), flat.unravel_z(zdot), converged
    )
