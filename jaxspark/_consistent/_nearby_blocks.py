"""Back onto the constraints from nearby, for systems of many blocks."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import (
    CHECKPOINT_NAME,
    differentiable_root,
    preconditioned_solve,
    stop_gradient,
)
from .._kkt import BlockLinearSolver
from .._system import FlatSystem
from ._nearby import iterate_nearby


def project_nearby_blocks(
    system: FlatSystem,
    solver: BlockLinearSolver,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
    """What `project_nearby` does, with the matrix `D` applied and never formed.

    `D mu` is the solution of a saddle point problem with `(0, mu)` on the right, factorised once.

    **Arguments:** as for `project_nearby`; `solver`: for the blocks of the system.

    **Returns:** `y`, `z`, and whether they satisfy the constraints to rounding error.
    """
    saddle = solver.saddle(system, t, y, z)
    operands = (system, t, y, z, saddle)
    x, good = _iterate(stop_gradient(operands))
    good = checkpoint_name(good, CHECKPOINT_NAME)
    x = differentiable_root(_residual, operands, x, _linear_solve)
    return *_moved(x, operands), good


def _change(x: Float[Array, " m"], operands: Any) -> tuple[Array, Array]:
    """How far `x = [mu; nu]` moves the state."""
    system, _, _, _, saddle = operands
    mu, nu = x[: system.nlam], x[system.nlam :]
    both = jnp.stack([jnp.concatenate([mu, jnp.zeros(system.npsi, x.dtype)]), nu])
    change, _ = saddle.solve_many(jnp.zeros((2, system.nz), x.dtype), both)
    return saddle.along(change[:1])[0], change[1]


def _moved(x: Float[Array, " m"], operands: Any) -> tuple[Float[Array, " ny"], Float[Array, " nz"]]:
    """The state that belongs to `x`."""
    in_y, in_z = _change(x, operands)
    return operands[2] - in_y, operands[3] - in_z


def _violations(system: FlatSystem, t: FloatScalar, y: Array, z: Array) -> Float[Array, " m"]:
    """`[g; gdot; k]`."""
    parts = []
    if system.g is not None:
        parts += jax.jvp(system.g, (t, y), (jnp.ones_like(t), system.velocity(t, y, z)))
    if system.k is not None:
        parts.append(system.k(t, y, z))
    return jnp.concatenate(parts)


def _residual(x: Float[Array, " m"], operands: Any) -> Float[Array, " m"]:
    """`-[g; gdot; k]`, whose Jacobian is nearly the identity."""
    return -_violations(operands[0], operands[1], *_moved(x, operands))


def _iterate(operands: Any) -> tuple[Float[Array, " m"], BoolScalar]:
    """`x <- x + [g; gdot; k]`; one solution in each iteration, for the state follows."""
    system, t, y, z, _ = operands
    start = (jnp.zeros(2 * system.nlam + system.npsi, y.dtype), y, z)

    def update(carry):
        x, y, z = carry
        wrong = _violations(system, t, y, z)
        in_y, in_z = _change(wrong, operands)
        return (x + wrong, y - in_y, z - in_z), (in_y, in_z)

    (x, _, _), good = iterate_nearby(update, start, (y, z))
    return jnp.where(good, x, jnp.zeros_like(x)), good


def _linear_solve(matvec, rhs, at, operands):
    del at, operands
    return preconditioned_solve(matvec, lambda b: b, lambda b: b, rhs, (1.0,))
