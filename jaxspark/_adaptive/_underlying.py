"""The underlying ODE: the derivatives of the constraints solved for the accelerations."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import (
    bias_terms,
    block_accelerations,
    constraint_jacobian,
    flat_multipliers,
    force_terms,
)
from .._custom_types import Args, FloatScalar, RealScalarLike
from .._kkt import BlockLinearSolver, saddle_solve, select_linear_solver
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten


def flat_underlying(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Float[Array, " nz"], Float[Array, " nlam"], Float[Array, " npsi"]]:
    """`(z', lam, psi)`, by one linear system where the forces of the constraints are ideal.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    if not system.ideal:
        return flat_multipliers(system, t, y, z)[:3]
    solver = select_linear_solver(system)
    if isinstance(solver, BlockLinearSolver):
        zdot, multipliers = block_accelerations(system, solver, t, y, z)
        return zdot, multipliers[: system.nlam], multipliers[system.nlam :]
    rhs, bias = force_terms(system, t, y, z), bias_terms(system, t, y, z)
    M, C = system.mass(t, y, z), constraint_jacobian(system, t, y, z)
    zdot, multipliers = saddle_solve(M, C, rhs[:, None], -bias[:, None])
    return zdot[:, 0], multipliers[: system.nlam, 0], multipliers[system.nlam :, 0]


def underlying_ode(
    system: AbstractConstrainedSystem,
) -> Callable[[RealScalarLike, Any, Args], tuple[Any, Any]]:
    r"""The vector field `(t, (y, z), args) -> (y', z')` of the underlying ODE.

    The constraints, differentiated until the accelerations appear, are solved for these and
    for the multipliers. For `diffrax.ODETerm`; along its solutions the constraints drift,
    as along those of [`jaxspark.solve`][] by an explicit method they do not.

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
