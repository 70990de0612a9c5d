"""The underlying ODE: the derivatives of the constraints solved for the accelerations."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_multipliers
from .._custom_types import Args, FloatScalar, RealScalarLike
from .._implicit import stop_gradient
from .._kkt import kkt_blocks, KKTBlocks, select_linear_solver
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten


def flat_underlying(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Float[Array, " nz"], Float[Array, " nlam"], Float[Array, " npsi"]]:
    """`(z', lam, psi)`, by one solution of a linear system with K2 where forces are ideal.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    if not system.ideal:
        return flat_multipliers(system, t, y, z)[:3]
    none_lam, none_psi = jnp.zeros(system.nlam, y.dtype), jnp.zeros(system.npsi, y.dtype)
    at, along = (t, y, z), (jnp.ones_like(t), system.velocity(t, y, z), jnp.zeros_like(z))
    rhs = system.f(t, y, z)
    if system.p is not None:
        rhs = rhs - jax.jvp(system.momentum, at, along)[1]
    rows = [rhs]
    if system.g is not None:
        rows.append(-jax.jvp(system.holonomic_rate, at, along)[1])
    if system.k is not None:
        rows.append(-jax.jvp(system.nonholonomic, at, along)[1])
    x = _solve(system, kkt_blocks(system, t, y, z, none_lam, none_psi), jnp.concatenate(rows))
    lam, psi = x[system.nz : system.nz + system.nlam], x[system.nz + system.nlam :]
    return x[: system.nz], lam, psi


def _solve(system: FlatSystem, blocks: KKTBlocks, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
    """`K2 x = rhs`, NaN if K2 is singular; differentiated implicitly."""
    K2 = blocks.K2
    solver = select_linear_solver(system)
    factors = solver.factor(stop_gradient(blocks))
    none = jnp.zeros((0, system.nz + system.nlam), rhs.dtype)

    def solve(_, b):
        return solver.solve(factors, b[None, :], none)[0][0]

    def solve_transposed(_, b):
        return solver.solve_transposed(factors, b[None, :], none)[0][0]

    x = jax.lax.custom_linear_solve(lambda x: K2 @ x, rhs, solve, solve_transposed)
    return jnp.where(solver.regular(factors), x, jnp.nan)


def underlying_ode(
    system: AbstractConstrainedSystem,
) -> Callable[[RealScalarLike, Any, Args], tuple[Any, Any]]:
    r"""The vector field `(t, (y, z), args) -> (y', z')` of the underlying ODE.

    The constraints, differentiated until the accelerations appear, are solved for these and
    for the multipliers. For `diffrax.ODETerm`; along its solutions the constraints drift,
    unless each step is projected: [`jaxspark.Projected`][].

    **Arguments:**

    - `system`: the constrained system.

    **Returns:** the vector field, of states `(y, z)`. It is NaN where the accelerations are not
    determined. (The multipliers are found by [`jaxspark.multipliers`][].)

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """

    def vector_field(t, state, args):
        y, z = (as_state(name, part) for name, part in zip("yz", state, strict=True))
        dtype = jnp.result_type(*jax.tree.leaves(y))
        t = jnp.asarray(t, dtype)
        flat, flat_y, flat_z = flatten(system, t, y, z, as_args(args, dtype))
        zdot, _, _ = flat_underlying(flat, t, flat_y, flat_z)
        return flat.unravel_y(flat.velocity(t, flat_y, flat_z)), flat.unravel_z(zdot)

    return vector_field
