"""Larger systems without exploitable structure: LAPACK's LU factorisation."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Bool, Float, Int

from ._base import AbstractLinearSolver, equilibrate, KKTBlocks, singular_threshold


class _LU(eqx.Module):
    lu: Float[Array, "n n"]
    pivots: Int[Array, " n"]
    rows: Float[Array, " n"]
    columns: Float[Array, " n"]

    def solve(self, rhs: Float[Array, "m n"]) -> Float[Array, "m n"]:
        scaled = (rhs * self.rows[None, :]).T
        return jsl.lu_solve((self.lu, self.pivots), scaled).T * self.columns[None, :]

    def solve_transposed(self, rhs: Float[Array, "m n"]) -> Float[Array, "m n"]:
        scaled = (rhs * self.columns[None, :]).T
        return jsl.lu_solve((self.lu, self.pivots), scaled, trans=1).T * self.rows[None, :]

    def smallest_pivot(self) -> Float[Array, ""]:
        return jnp.min(jnp.abs(jnp.diagonal(self.lu)), initial=jnp.inf)


class _Factors(eqx.Module):
    K2: _LU
    K3: _LU | None


def lu_factors(matrix: Float[Array, "n n"]) -> _LU:
    """LU with partial pivoting of the equilibrated matrix."""
    scaled, rows, columns = equilibrate(matrix)
    lu, pivots = jsl.lu_factor(scaled)
    # On a GPU the factors of a matrix with NaN in it can be finite.
    lu = jnp.where(jnp.all(jnp.isfinite(scaled)), lu, jnp.nan)
    return _LU(lu, pivots, rows, columns)


def solve_augmented(matrix: Float[Array, "n n1"]) -> Float[Array, " n"]:
    """`x` with `A x = b` for the matrix `[A, b]`; not finite where `A` is singular.

    The factorisation of the whole matrix leaves `L^{-1} P b` in its last column, so that no
    permutation has to be applied: on small systems those cost more than the factorisation.
    """
    n = matrix.shape[0]
    largest = jnp.max(jnp.abs(matrix[:, :n]), 1, initial=0, keepdims=True)
    scaled = matrix / jnp.where(largest > 0, largest, 1)
    lu = jax.lax.linalg.lu(scaled)[0]
    lu = jnp.where(jnp.all(jnp.isfinite(scaled)), lu, jnp.nan)
    return jax.lax.linalg.triangular_solve(lu[:, :n], lu[:, n:], left_side=True)[:, 0]


class DenseLU(AbstractLinearSolver):
    """Factorises K2 and K3 by LAPACK, with rows and columns equilibrated first."""

    def factor(self, blocks: KKTBlocks) -> _Factors:
        K3 = None if blocks.end_is_K2 else lu_factors(blocks.K_end)
        return _Factors(lu_factors(blocks.K2), K3)

    def solve(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        return _solve(_LU.solve, factors, rhs2, rhs3)

    def solve_transposed(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        return _solve(_LU.solve_transposed, factors, rhs2, rhs3)

    def regular(self, factors: _Factors) -> Bool[Array, ""]:
        smallest = factors.K2.smallest_pivot()
        if factors.K3 is not None:
            smallest = jnp.minimum(smallest, factors.K3.smallest_pivot())
        size = factors.K2.lu.shape[0]
        return smallest > singular_threshold(size, factors.K2.lu.dtype)


def _solve(
    solve: Callable[[_LU, Float[Array, "m n"]], Float[Array, "m n"]],
    factors: _Factors,
    rhs2: Float[Array, "s n2"],
    rhs3: Float[Array, "m n3"],
) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
    """Where K2 is needed in place of K3, too, it takes one more right-hand side."""
    if factors.K3 is None:
        both = solve(factors.K2, jnp.concatenate([rhs2, rhs3]))
        return both[: rhs2.shape[0]], both[rhs2.shape[0] :]
    pairs = (factors.K2, rhs2), (factors.K3, rhs3)
    x2, x3 = (solve(lu, rhs) if rhs.shape[0] else rhs for lu, rhs in pairs)
    return x2, x3
