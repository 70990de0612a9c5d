"""The saddle-point problem of mass matrix and constraint Jacobian, solved differentiably."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._implicit import linear_solve
from ._saddle import saddle_in_loops, solve_unrolled


# Solves: one, and one for what rounding errors of the first leave.
SOLVES = 2


def saddle_solve(
    M: Float[Array, "nz nz"] | None,
    C: Float[Array, "m nz"],
    r: Float[Array, "nz n"],
    b: Float[Array, "m n"],
    *,
    in_loops: bool = False,
) -> tuple[Float[Array, "nz n"], Float[Array, "m n"]]:
    """`x` and `lam` with `M x + C^T lam = r`, `C x = b`.

    **Arguments:**

    - `M`: the mass matrix; `None` if it is the identity.
    - `C`: the Jacobian of the constraints.
    - `r`, `b`: the right-hand sides, one in each column.
    - `in_loops`: by a short program ([`saddle_in_loops`][]), which compiles in a third of the time,
        and with refinement: for what is not solved at every step. NaN then has no derivatives.

    **Returns:** `x` and `lam`, differentiable; NaN if they are not determined.

    Source: M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*,
    Acta Numerica 14 (2005), section 5.
    """
    nz = C.shape[1]
    frozen_M = None if M is None else jax.lax.stop_gradient(M)
    frozen_C = jax.lax.stop_gradient(C)

    def matvec(u):
        x, lam = u[:nz], u[nz:]
        return jnp.concatenate([(x if M is None else M @ x) + C.T @ lam, C @ x])

    def solve_with(M, rhs):
        return (_refined if in_loops else solve_unrolled)(M, frozen_C, rhs)

    def solve(rhs):
        return solve_with(frozen_M, rhs)

    def solve_transposed(rhs):
        return solve_with(None if frozen_M is None else frozen_M.T, rhs)

    # One vector: a right-hand side of many arrays, some of them constant, does not transpose.
    rhs = jnp.concatenate([r, b])
    u = linear_solve(matvec, rhs, solve, solve_transposed, or_nan=in_loops)
    return u[:nz], u[nz:]


def _refined(M: Array | None, C: Array, rhs: Float[Array, "n2 n"]) -> Float[Array, "n2 n"]:
    """By loops, with balanced equations, and once more for the residual.

    Source: N. J. Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 12.1, for
    refinement in fixed precision; section 9.8 for scaling, whose factors here are ours.
    """
    nz = C.shape[1]
    by_velocity, by_constraint = _scales(M, C)
    scales = jnp.concatenate([by_velocity, by_constraint])[:, None]
    M = None if M is None else by_velocity[:, None] * M * by_velocity[None, :]
    C, rhs = by_constraint[:, None] * C * by_velocity[None, :], scales * rhs

    def trip(_, u):
        x, lam = u[:nz], u[nz:]
        forces = (x if M is None else M @ x) + C.T @ lam
        left = rhs - jnp.concatenate([forces, C @ x])
        return u + saddle_in_loops(M, C, left)[0]

    return scales * jax.lax.fori_loop(0, SOLVES, trip, jnp.zeros_like(rhs))


def _scales(M: Array | None, C: Array) -> tuple[Float[Array, " nz"], Float[Array, " m"]]:
    """Factors of velocities and constraints: masses of 1, then entries of `C` of at most 1.

    Massless velocities, whose pivots are those of the constraints, get entries of `C` of 1.
    """
    diagonal = jnp.ones(C.shape[1], C.dtype) if M is None else jnp.abs(jnp.diagonal(M))
    massive = diagonal > 0
    root = jnp.where(massive, jax.lax.rsqrt(jnp.where(massive, diagonal, 1)), 1)
    by_constraint = _reciprocal(jnp.max(jnp.abs(C) * root[None, :], 1, initial=0))
    largest = jnp.max(jnp.abs(C) * by_constraint[:, None], 0, initial=0)
    return jnp.where(massive, root, _reciprocal(largest)), by_constraint


def _reciprocal(sizes: Float[Array, " n"]) -> Float[Array, " n"]:
    """Of what is not zero; else 1."""
    return jnp.where(sizes > 0, 1 / jnp.where(sizes > 0, sizes, 1), 1)
