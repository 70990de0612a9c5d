"""Larger systems without exploitable structure: LAPACK's LU factorisation."""

import equinox as eqx
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

    def smallest_pivot(self) -> Float[Array, ""]:
        return jnp.min(jnp.abs(jnp.diagonal(self.lu)), initial=jnp.inf)


class _Factors(eqx.Module):
    """The matrices and their transposes, factorised apart.

    A solve with the transpose of a factorisation takes LAPACK half as long again. Derivatives
    use either the one or the other, and the compiler removes the one that nobody uses.
    """

    K2: _LU
    K3: _LU | None
    K2_transposed: _LU
    K3_transposed: _LU | None


def lu_factors(matrix: Float[Array, "n n"]) -> _LU:
    """LU with partial pivoting of the equilibrated matrix."""
    scaled, rows, columns = equilibrate(matrix)
    lu, pivots = jsl.lu_factor(scaled)
    return _LU(lu, pivots, rows, columns)


class DenseLU(AbstractLinearSolver):
    """Factorises K2 and K3 by LAPACK, with rows and columns equilibrated first."""

    def factor(self, blocks: KKTBlocks) -> _Factors:
        K2 = blocks.K2
        if blocks.k_z.shape[0] == 0:
            return _Factors(lu_factors(K2), None, lu_factors(K2.T), None)
        K3 = blocks.K3
        return _Factors(lu_factors(K2), lu_factors(K3), lu_factors(K2.T), lu_factors(K3.T))

    def solve(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, " n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, " n3"]]:
        return _solve(factors.K2, factors.K3, rhs2, rhs3)

    def solve_transposed(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, " n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, " n3"]]:
        return _solve(factors.K2_transposed, factors.K3_transposed, rhs2, rhs3)

    def regular(self, factors: _Factors) -> Bool[Array, ""]:
        smallest = factors.K2.smallest_pivot()
        if factors.K3 is not None:
            smallest = jnp.minimum(smallest, factors.K3.smallest_pivot())
        size = factors.K2.lu.shape[0]
        return smallest > singular_threshold(size, factors.K2.lu.dtype)


def _solve(
    K2: _LU, K3: _LU | None, rhs2: Float[Array, "s n2"], rhs3: Float[Array, " n3"]
) -> tuple[Float[Array, "s n2"], Float[Array, " n3"]]:
    """Without nonholonomic constraints K3 is K2, and takes one more right-hand side."""
    if K3 is None:
        both = K2.solve(jnp.concatenate([rhs2, rhs3[None, :]]))
        return both[:-1], both[-1]
    return K2.solve(rhs2), K3.solve(rhs3[None, :])[0]
