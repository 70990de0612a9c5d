"""Accelerations and multipliers of small systems."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import differentiable_root, stop_gradient
from .._kkt import saddle_by_rows, saddle_matrix_solve, saddle_solve
from .._system import FlatSystem
from ._multipliers import bias_terms, force_terms
from ._nearby import constraint_jacobian, mass_matrix


Operands = tuple[FlatSystem, FloatScalar, Array, Array]


def small_accelerations(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Float[Array, " n"]:
    """`[z'; lam; psi]` of a small system whose constraint forces are ideal.

    NaN where they are not determined.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    operands = (system, t, y, z)
    frozen = stop_gradient(operands)
    x, good = _by_elimination(*frozen)

    def body(carry):
        _, _, y, z = carry
        M, C, rhs = saddle_point(frozen[0], frozen[1], y, z)
        # The loop overwrites the state: what it changes, the compiler cannot hoist out of it.
        solution = saddle_matrix_solve(M, C, rhs)[:, 0]
        return jnp.asarray(True), solution, jnp.zeros_like(y), jnp.zeros_like(z)

    # The only trip of a loop that makes none otherwise: it costs nothing where it is not needed.
    start = (good, x, frozen[2], frozen[3])
    x = jax.lax.while_loop(lambda carry: ~carry[0], body, start)[1]
    return differentiable_root(_residual, operands, x, _linear_solve)


def saddle_point(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Float[Array, "nz nz"] | None, Float[Array, "m nz"], Float[Array, "n 1"]]:
    """Mass matrix, Jacobian of the constraints, and right-hand side."""
    rhs = jnp.concatenate([force_terms(system, t, y, z), -bias_terms(system, t, y, z)])
    return mass_matrix(system, t, y, z), constraint_jacobian(system, t, y, z), rhs[:, None]


def _by_elimination(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Float[Array, " n"], BoolScalar]:
    u, good = saddle_by_rows(*saddle_point(system, t, y, z))
    return u[:, 0], good


def _residual(x: Float[Array, " n"], operands: Operands) -> Float[Array, " n"]:
    M, C, rhs = saddle_point(*operands)
    zdot, multipliers = x[: C.shape[1]], x[C.shape[1] :]
    momentum = zdot if M is None else M @ zdot
    return jnp.concatenate([momentum + C.T @ multipliers, C @ zdot]) - rhs[:, 0]


def _linear_solve(matvec: Any, rhs: Array, at: Array, operands: Operands) -> Array:
    """The equations are linear: their Jacobian is the matrix, wherever the root is.

    How the solution depends on the matrix, `matvec` says.
    """
    del at
    M, C, _ = saddle_point(*stop_gradient(operands))
    split = C.shape[1]

    def solve(M: Array | None, rhs: Array) -> Array:
        return jnp.concatenate(saddle_solve(M, C, rhs[:split, None], rhs[split:, None]))[:, 0]

    transposed = None if M is None else M.T
    return jax.lax.custom_linear_solve(
        matvec, rhs, lambda _, b: solve(M, b), lambda _, b: solve(transposed, b)
    )
