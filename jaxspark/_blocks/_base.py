"""What the solvers for block-structured matrices have in common."""

import abc
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float

from ._pattern import BlockMatrix, Pattern


class AbstractBlockSolver(eqx.Module):
    """Factorises `[[K, C^T], [B, 0]]` once and solves with it many times.

    Everything that depends on the structure alone is decided by NumPy, once for each pattern,
    before anything is traced; errors of the structure are raised there.
    """

    @abc.abstractmethod
    def symbolic(self, pattern: Pattern) -> Any:
        """What is decided by the structure alone, hashable.

        **Raises:** `ValueError` for structures that the solver cannot treat.
        """

    @abc.abstractmethod
    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> Any:
        """The factors, a PyTree of arrays."""

    @abc.abstractmethod
    def solve_blocks(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        """The solution `(x, lam)` of `K x + C^T lam = f`, `B x = g`; linear in `(f, g)`.

        `f` and `x` have the shape `(nb, q, k)`, `g` and `lam` the shape `(m, k)`, for `k`
        right-hand sides. Where blocks are padded `f` is zero, and so is `x`.
        """

    @abc.abstractmethod
    def regular_blocks(self, pattern: Pattern, factors: Any) -> Bool[Array, ""]:
        """Whether the matrix is nonsingular to working precision."""

    @abc.abstractmethod
    def explain_blocks(self, pattern: Pattern) -> str:
        """What is done, and why: blocks, levels, loops, the largest cluster."""

    def refinements(self, pattern: Pattern) -> int:
        """How often a solution must be refined to be as accurate as the matrix allows."""
        del pattern
        return 0

    def solve_blocks_transposed(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        """The solution `(x, lam)` of `K^T x + B^T lam = f`, `C x = g`, by the same factors."""

        def solve(f, g):
            return self.solve_blocks(pattern, factors, f, g)

        return jax.linear_transpose(solve, f, g)((f, g))
