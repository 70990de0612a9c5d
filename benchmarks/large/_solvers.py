"""The solvers that are measured, and a dense one beside them."""

from typing import Any

import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

import jaxspark
from jaxspark._blocks._base import AbstractBlockSolver
from jaxspark._blocks._klu import coordinates
from jaxspark._blocks._pattern import BlockMatrix, Pattern


def recursive(**options: Any) -> AbstractBlockSolver:
    """The null space from leaf to root."""
    return jaxspark.linear.AcyclicNullSpace(mode="recursive", **options)


def explicit(**options: Any) -> AbstractBlockSolver:
    """The null space written out."""
    return jaxspark.linear.AcyclicNullSpace(mode="explicit", **options)


def range_space() -> AbstractBlockSolver | None:
    """The solver in the space of multipliers, where there is one."""
    found = getattr(jaxspark.linear, "RangeSpace", None)
    return None if found is None else found()


class DenseBlocks(AbstractBlockSolver):
    """LAPACK's LU of the whole matrix."""

    def symbolic(self, pattern: Pattern) -> None:
        del pattern

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> Any:
        entries = coordinates(pattern)
        zero = jnp.zeros((entries.size, entries.size), matrix.K.dtype)
        return jsl.lu_factor(zero.at[entries.rows, entries.columns].set(entries.values(matrix)))

    def solve_blocks(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        own = f.reshape(-1, f.shape[-1])[pattern.unknowns]
        x = jsl.lu_solve(factors, jnp.concatenate([own, g]))
        padded = jnp.concatenate([x[: pattern.size], jnp.zeros((1, x.shape[1]), x.dtype)])
        return padded[coordinates(pattern).position], x[pattern.size :]

    def regular_blocks(self, pattern: Pattern, factors: Any) -> Any:
        del pattern
        return jnp.all(jnp.isfinite(factors[0]))

    def explain_blocks(self, pattern: Pattern) -> str:
        return f"LAPACK's LU of {coordinates(pattern).size} unknowns."
