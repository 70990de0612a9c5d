"""Solvers that form the inverses of K2 and K3 explicitly."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._base import AbstractLinearSolver, KKTBlocks, singular_threshold
from ._dense import lu_factors


class _Inverses(eqx.Module):
    inverse2: Float[Array, "n2 n2"]
    inverse3: Float[Array, "n3 n3"] | None
    smallest_pivot: Float[Array, ""]


class AbstractInverse(AbstractLinearSolver):
    """Inverts once and multiplies many times; the transpose comes for free.

    What an explicit inverse loses in accuracy, the modified Newton iteration around it does
    not notice.
    """

    @abc.abstractmethod
    def invert(self, matrix: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
        """The inverse, and the smallest pivot of the equilibrated matrix."""

    @abc.abstractmethod
    def multiply(
        self, inverse: Float[Array, "n n"], rhs: Float[Array, "m n"]
    ) -> Float[Array, "m n"]:
        """`inverse @ rhs[i]` for every `i`."""

    def factor(self, blocks: KKTBlocks) -> _Inverses:
        inverse2, pivot2 = self.invert(blocks.K2)
        if blocks.end_is_K2:
            return _Inverses(inverse2, None, pivot2)
        inverse3, pivot3 = self.invert(blocks.K_end)
        return _Inverses(inverse2, inverse3, jnp.minimum(pivot2, pivot3))

    def solve(
        self, factors: _Inverses, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        inverse2 = factors.inverse2
        inverse3 = inverse2 if factors.inverse3 is None else factors.inverse3
        return self.multiply(inverse2, rhs2), self.multiply(inverse3, rhs3)

    def solve_transposed(
        self, factors: _Inverses, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        inverse3 = factors.inverse3
        transposed = _Inverses(
            factors.inverse2.T,
            None if inverse3 is None else inverse3.T,
            factors.smallest_pivot,
        )
        return self.solve(transposed, rhs2, rhs3)

    def regular(self, factors: _Inverses) -> Bool[Array, ""]:
        size = factors.inverse2.shape[0]
        return factors.smallest_pivot > singular_threshold(size, factors.inverse2.dtype)


class DenseInverse(AbstractInverse):
    """Inverts by LAPACK's LU factorisation.

    LAPACK solves with triangular factors ten times slower than it multiplies matrices, and a
    step makes about six solves: where the matrix is not large, an inverse is cheaper.
    """

    def invert(self, matrix: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
        factors = lu_factors(matrix)
        inverse = factors.solve(jnp.eye(matrix.shape[0], dtype=matrix.dtype)).T
        return inverse, factors.smallest_pivot()

    def multiply(
        self, inverse: Float[Array, "n n"], rhs: Float[Array, "m n"]
    ) -> Float[Array, "m n"]:
        return rhs @ inverse.T
