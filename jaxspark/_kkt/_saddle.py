"""One linear system with the mass matrix and the constraint Jacobian, solved once."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._base import singular_threshold
from ._dense import lu_factors
from ._select import ELEMENTWISE_LIMIT


Solution = tuple[Float[Array, "nz n"], Float[Array, "m n"]]


def saddle_solve(
    M: Float[Array, "nz nz"] | None,
    C: Float[Array, "m nz"],
    r: Float[Array, "nz n"],
    b: Float[Array, "m n"],
) -> Solution:
    """`x` and `lam` with `M x + C^T lam = r`, `C x = b`.

    **Arguments:**

    - `M`: the mass matrix; `None` if it is the identity.
    - `C`: the Jacobian of the constraints.
    - `r`, `b`: the right-hand sides, one in each column.

    **Returns:** `x` and `lam`, differentiable; NaN if they are not determined.

    Source: M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*,
    Acta Numerica 14 (2005), section 5.
    """
    frozen_M = None if M is None else jax.lax.stop_gradient(M)
    frozen_C = jax.lax.stop_gradient(C)

    def matvec(unknowns):
        x, lam = unknowns
        return (x if M is None else M @ x) + C.T @ lam, C @ x

    def solve(_, rhs):
        return _solve(frozen_M, frozen_C, *rhs)

    def transpose_solve(_, rhs):
        return _solve(None if frozen_M is None else frozen_M.T, frozen_C, *rhs)

    return jax.lax.custom_linear_solve(matvec, (r, b), solve, transpose_solve)


def _solve(M: Array | None, C: Array, r: Array, b: Array) -> Solution:
    """By the Schur complement; where pivots are small, by LAPACK.

    That is the only trip of a loop that makes none otherwise, so that it costs nothing where it
    is not needed, under `jax.vmap` too.
    """
    if sum(C.shape) > ELEMENTWISE_LIMIT:
        return _by_lapack(_matrix(M, C), r, b)
    # Fused with the elimination, what computes the entries would be computed at every pivot.
    M, C, r, b = jax.lax.optimization_barrier((M, C, r, b))
    x, lam, smallest = _by_schur_complement(M, C, r, b)

    def body(carry):
        _, C, x, lam = carry
        x, lam = _by_lapack(_matrix(M, C), r, b)
        # The loop overwrites C: what it changes, the compiler cannot hoist out of it.
        return jnp.asarray(True), jnp.zeros_like(C), x, lam

    start = (smallest > jnp.finfo(r.dtype).eps ** 0.25, C, x, lam)
    _, _, x, lam = jax.lax.while_loop(lambda carry: ~carry[0], body, start)
    return x, lam


def _matrix(M: Array | None, C: Array) -> Float[Array, "n2 n2"]:
    m, nz = C.shape
    M = jnp.eye(nz, dtype=C.dtype) if M is None else M
    return jnp.block([[M, C.T], [C, jnp.zeros((m, m), C.dtype)]])


def _by_lapack(matrix: Float[Array, "n2 n2"], r: Array, b: Array) -> Solution:
    nz, size = r.shape[0], matrix.shape[0]
    factors = lu_factors(matrix)
    regular = factors.smallest_pivot() > singular_threshold(size, matrix.dtype)
    solution = factors.solve(jnp.concatenate([r, b]).T).T
    solution = jnp.where(regular, solution, jnp.nan)
    return solution[:nz], solution[nz:]


def _by_schur_complement(
    M: Array | None, C: Array, r: Array, b: Array
) -> tuple[Array, Array, Float[Array, ""]]:
    """`S lam = C w - b` and `x = w - W lam`, with `W = M^{-1} C^T`, `w = M^{-1} r`, `S = C W`.

    **Returns:** `x`, `lam`, and the smallest pivot relative to its diagonal entry.
    """
    m = C.shape[0]
    work, smallest = jnp.concatenate([C.T, r], 1), jnp.asarray(jnp.inf, r.dtype)
    if M is not None:
        work, smallest = _eliminate(M, work)
    if m == 0:
        return work, b, smallest
    products = jnp.sum(C[:, :, None] * work[None, :, :], 1)
    lam, pivot = _eliminate(products[:, :m], products[:, m:] - b)
    x = work[:, m:] - jnp.sum(work[:, :m, None] * lam[None, :, :], 1)
    return x, lam, jnp.minimum(smallest, pivot)


def _eliminate(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, ""]]:
    """Gauss-Jordan elimination without exchanges: right for positive definite matrices.

    **Returns:** the solution, and the smallest pivot relative to its diagonal entry.
    """
    n = matrix.shape[0]
    work, pivots = jnp.concatenate([matrix, rhs], 1), []
    for k in range(n):
        pivot = work[k, 0]
        pivots.append(jnp.abs(pivot))
        row = work[k, 1:] / jnp.where(pivot == 0, 1, pivot)
        # Row k becomes this one; all others lose their entry in column k, then left away.
        others = work[:, 1:] - work[:, :1] * row[None, :]
        work = jnp.where(np.arange(n)[:, None] == k, row[None, :], others)
    diagonal = jnp.abs(jnp.diagonal(matrix))
    sizes = jnp.where(diagonal > 0, diagonal, 1)
    return work, jnp.min(jnp.stack(pivots) / sizes, initial=jnp.inf)
