"""One linear system with the mass matrix and the constraint Jacobian, solved once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._implicit import lazily
from .._system import AbstractMasses
from ._base import singular_threshold
from ._dense import lu_factors
from ._select import ELEMENTWISE_LIMIT


# Unknowns for which a loop is longer than the code without it.
FEW = 2
# Measured: constraints beyond which LAPACK's Cholesky is faster than such a loop.
LARGEST_SCHUR = 15
# Of a product, written out.
MOST_TERMS = 32
# Unknowns beyond which LAPACK is faster than a loop over the pivots.
LARGEST_LOOP = 45


def solve_unrolled(M: Array | None, C: Array, rhs: Float[Array, "n2 n"]) -> Float[Array, "n2 n"]:
    """By the Schur complement; where that is inaccurate, by LAPACK."""
    if sum(C.shape) > ELEMENTWISE_LIMIT:
        return _by_lapack(_matrix(M, C), rhs)
    # Fused with the elimination, what computes the entries would be computed at every pivot.
    M, C, rhs = jax.lax.optimization_barrier((M, C, rhs))
    u, good = _by_schur(M, C, rhs, _eliminate)
    return lazily(~good, lambda C: _by_lapack(_matrix(M, C), rhs), C, u)


def _matrix(M: Array | None, C: Array) -> Float[Array, "n2 n2"]:
    m, nz = C.shape
    M = jnp.eye(nz, dtype=C.dtype) if M is None else M
    return jnp.block([[M, C.T], [C, jnp.zeros((m, m), C.dtype)]])


def _by_lapack(matrix: Float[Array, "n2 n2"], rhs: Float[Array, "n2 n"]) -> Float[Array, "n2 n"]:
    factors = lu_factors(matrix)
    regular = factors.smallest_pivot() > singular_threshold(matrix.shape[0], matrix.dtype)
    return jnp.where(regular, factors.solve(rhs.T).T, jnp.nan)


def _eliminate(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """Gauss-Jordan elimination without exchanges, one operation for each pivot.

    **Returns:** the solution, and the pivots by the diagonal entries.
    """
    n = matrix.shape[0]
    work, pivots = jnp.concatenate([matrix, rhs], 1), []
    for k in range(n):
        pivot = work[k, 0]
        pivots.append(pivot)
        row = work[k, 1:] / jnp.where(pivot == 0, 1, pivot)
        # Row k becomes this one; all others lose their entry in column k, then left away.
        others = work[:, 1:] - work[:, :1] * row[None, :]
        work = jnp.where(np.arange(n)[:, None] == k, row[None, :], others)
    diagonal = jnp.diagonal(matrix)
    return work, jnp.stack(pivots) / jnp.where(diagonal == 0, 1, diagonal)


def saddle_in_loops(
    M: Float[Array, "nz nz"] | None,
    C: Float[Array, "m nz"],
    rhs: Float[Array, "n k"],
    full: bool = False,
) -> tuple[Float[Array, "n k"], Bool[Array, ""]]:
    """The same as a short program: elimination as loops, with exchanges of rows where these
    are needed; by LAPACK beyond `LARGEST_LOOP` unknowns, and by its Cholesky factors beyond
    `LARGEST_SCHUR` constraints.

    It has no derivative.

    - `full`: whether the mass matrix is known not to be diagonal, as those of trees of bodies are.

    **Returns:** the solution, and whether the matrix is regular.
    """
    if sum(C.shape) > LARGEST_LOOP:
        u = _by_lapack(_matrix(M, C), rhs)
        return u, jnp.all(jnp.isfinite(u))
    masses = _by_rotation if full else _unless_diagonal
    u, good = _by_schur(M, C, rhs, _by_rotation, masses)
    u = lazily(~good, lambda C: _by_pivoting(_matrix(M, C), rhs), C, u)
    return u, jnp.all(jnp.isfinite(u))


def saddle_by_parts(
    masses: AbstractMasses, C: Float[Array, "m nz"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Bool[Array, ""]]:
    """The same with a mass matrix by its parts; where these are not definite, by LAPACK.

    It has no derivative.

    **Returns:** the solution, and whether the matrix is regular.
    """

    def eliminate_masses(_, work):
        x, good = masses.solve(work)
        return x, jnp.where(good, jnp.ones(C.shape[1], work.dtype), 0)

    u, good = _by_schur(masses, C, rhs, _by_rotation, eliminate_masses)
    u = lazily(~good, lambda C: _by_lapack(_matrix(masses.matrix(), C), rhs), C, u)
    return u, jnp.all(jnp.isfinite(u))


def _by_pivoting(matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Gauss-Jordan elimination with exchanges of rows, as a loop; NaN if the matrix is singular.

    Each trip removes the first column and the row of the pivot, whose place the first row takes,
    and appends what became of that row. Without calls to LAPACK, which would keep XLA from making
    one piece of the loops around it.
    """
    n, k = rhs.shape
    scale = jnp.max(jnp.abs(matrix), 1, keepdims=True)
    work = jnp.concatenate([matrix, rhs], 1) / jnp.where(scale == 0, 1, scale)
    rows = np.arange(n, dtype=np.int32)

    def trip(j, carry):
        work, smallest = carry
        sizes = jnp.where(rows < n - j, jnp.abs(work[:, 0]), -1)
        p = jnp.min(jnp.where(sizes == jnp.max(sizes), rows, n))
        row = jax.lax.dynamic_index_in_dim(work, p, 0, False)
        pivot = row[0]
        row = row[1:] / jnp.where(pivot == 0, 1, pivot)
        left = jnp.where((rows == p)[:, None], work[:1], work)[1:]
        others = left[:, 1:] - left[:, :1] * row[None, :]
        work = jnp.pad(jnp.concatenate([others, row[None, :]]), ((0, 0), (0, 1)))
        return work, jnp.minimum(smallest, jnp.abs(pivot))

    start = work, jnp.asarray(jnp.inf, work.dtype)
    work, smallest = jax.lax.fori_loop(np.int32(0), np.int32(n), trip, start)
    regular = smallest > singular_threshold(n, matrix.dtype)
    return jnp.where(regular, work[:, :k], jnp.nan)


def _by_schur(
    M: Any,
    C: Array,
    rhs: Float[Array, "n k"],
    eliminate: Callable[[Array, Array], tuple[Array, Array]],
    eliminate_masses: Callable[[Any, Array], tuple[Array, Array]] | None = None,
) -> tuple[Float[Array, "n k"], Bool[Array, ""]]:
    """`S lam = C w - b` and `x = w - W lam`, with `W = M^{-1} C^T`, `w = M^{-1} r`, `S = C W`.

    **Returns:** the solution and whether it is accurate: the matrices are positive definite,
    symmetric where Cholesky factors need that, and `x`, a small difference of large numbers where a
    light body is held, satisfies `C x = b`.
    """
    m, nz = C.shape
    epsilon = jnp.finfo(rhs.dtype).eps
    work, good = jnp.concatenate([C.T, rhs[:nz]], 1), jnp.asarray(True)
    if M is not None:
        work, ratios = (eliminate_masses or eliminate)(M, work)
        good = _definite(ratios)
    if m == 0:
        return work, good
    products = _product(C, work)
    S, wanted = products[:, :m], products[:, m:] - rhs[nz:]
    if m > LARGEST_SCHUR:
        good = good & _symmetric(S)
        lam, ratios = _by_cholesky(S, wanted)
    else:
        lam, ratios = eliminate(S, wanted)
    x = work[:, m:] - _product(work[:, :m], lam)
    terms = C[:, :, None] * x[None, :, :]
    scale = jnp.abs(rhs[nz:]) + jnp.sum(jnp.abs(terms), 1)
    wrong = jnp.abs(jnp.sum(terms, 1) - rhs[nz:])
    accurate = jnp.max(wrong) <= epsilon**0.75 * jnp.max(scale)
    return jnp.concatenate([x, lam]), good & _definite(ratios) & accurate


def _product(a: Float[Array, "l m"], b: Float[Array, "m n"]) -> Float[Array, "l n"]:
    """As a sum, which fuses with its neighbours, where a product would be a call of its own.

    Of outer products, which vectorise; a reduction goes through its terms one by one.
    """
    if b.shape[1] > 1 and 0 < a.shape[1] <= MOST_TERMS:
        terms = [a[:, j, None] * b[None, j] for j in range(a.shape[1])]
        return sum(terms[1:], terms[0])
    return jnp.sum(a[:, :, None] * b[None, :, :], 1)


def _definite(ratios: Float[Array, " n"]) -> Bool[Array, ""]:
    """Whether pivots are smaller than their diagonal entries, as those of definite matrices are.

    But not too small.

    - `ratios`: of each to its diagonal entry.
    """
    epsilon = jnp.finfo(ratios.dtype).eps
    return jnp.all((ratios > epsilon**0.25) & (ratios <= 1 + epsilon**0.5))


def _symmetric(matrix: Float[Array, "n n"]) -> Bool[Array, ""]:
    """Whether a definite matrix is symmetric, but for rounding."""
    size = jnp.sqrt(jnp.abs(jnp.diagonal(matrix)))
    tolerance = jnp.finfo(matrix.dtype).eps ** 0.75 * size[:, None] * size[None, :]
    return jnp.all(jnp.abs(matrix - matrix.T) <= tolerance)


def solve_definite(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """Elimination without exchanges; linear in `rhs`.

    **Returns:** the solution, and the pivots by the diagonal entries.
    """
    if matrix.shape[0] <= FEW:
        return _by_rows(matrix, rhs)
    return _by_rotation(matrix, rhs)


def _unless_diagonal(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """`_by_rotation`, which makes no trip where the matrix is diagonal, as many mass matrices are.

    Whether it is, its entries tell: a program that makes it by `jnp.diag` does not.
    """
    n, diagonal = matrix.shape[0], jnp.diagonal(matrix)
    others = jnp.where(np.eye(n, dtype=bool), 0, matrix)
    is_diagonal = jnp.all(others == 0)
    work, ratios = _by_rotation(matrix, rhs, jnp.where(is_diagonal, 0, n))
    known = jnp.where(diagonal == 0, jnp.nan, jnp.ones_like(diagonal))
    quotient = rhs / diagonal[:, None]
    return jnp.where(is_diagonal, quotient, work), jnp.where(is_diagonal, known, ratios)


def _by_rotation(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"], trips: Any = None
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """Gauss-Jordan elimination as a loop.

    Each trip removes the first row and the first column and appends what became of that row, so
    that the rows end where they began, and slices are static: one short body for any `n`.

    - `trips`: all of them by default; 0 where the result is not needed.
    """
    n, k = rhs.shape

    def trip(_, carry):
        work, pivots = carry
        pivot = work[0, 0]
        row = work[0, 1:] / pivot
        others = work[1:, 1:] - work[1:, :1] * row[None, :]
        work = jnp.pad(jnp.concatenate([others, row[None, :]]), ((0, 0), (0, 1)))
        return work, jnp.concatenate([pivots[1:], pivot[None]])

    start = jnp.concatenate([matrix, rhs], 1), jnp.zeros(n, matrix.dtype)
    work, pivots = jax.lax.fori_loop(0, n if trips is None else trips, trip, start)
    return work[:, :k], pivots / jnp.diagonal(matrix)


def _by_cholesky(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """By LAPACK's Cholesky factors of the lower triangle; NaN if these do not exist."""
    factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    ratios = jnp.diagonal(factor) ** 2 / jnp.diagonal(matrix)
    return jax.scipy.linalg.cho_solve((factor, True), rhs), ratios


def _by_rows(
    matrix: Float[Array, "n n"], rhs: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
    """Gaussian elimination row by row, for few unknowns."""
    n = matrix.shape[0]
    rows = [jnp.concatenate([matrix[i], rhs[i]]) for i in range(n)]
    reciprocals, upper, ratios = [], [], []
    for k in range(n):
        pivot = rows[k][0]
        ratios.append(pivot / matrix[k, k])
        reciprocals.append(1 / pivot)
        upper.append(rows[k][1:])
        for i in range(k + 1, n):
            rows[i] = rows[i][1:] - rows[i][0] * reciprocals[k] * upper[k]
    solution: list[Array] = []
    for k in reversed(range(n)):
        value = upper[k][n - k - 1 :]
        for j, later in enumerate(reversed(solution)):
            value = value - upper[k][j] * later
        solution.append(value * reciprocals[k])
    return jnp.stack(solution[::-1]), jnp.stack(ratios)
