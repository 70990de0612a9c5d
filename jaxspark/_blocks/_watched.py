"""The fast method for ideal joints, watched, and a sure one where it would be inaccurate."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._implicit import lazily
from ._base import AbstractBlockSolver
from ._pattern import BlockMatrix, Pattern
from ._range_space import RangeSpace


class _Factors(eqx.Module):
    """Those of the fast method, if there are any, and those of the sure one.

    The latter are zero where the former are accurate, `good`.
    """

    fast: Any
    sure: Any
    good: Bool[Array, ""]


class Watched(AbstractBlockSolver):
    """[`jaxspark.linear.RangeSpace`][] where its pivots are large enough, and else another solver.

    The second factorisation costs no time where it is not needed, in no lane of a batch.

    **Arguments:**

    - `sure`: the other solver, also for forces that are not ideal.
    """

    sure: AbstractBlockSolver

    def symbolic(self, pattern: Pattern) -> Any:
        return self.sure.symbolic(pattern)

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> _Factors:
        if matrix.C is not None:
            sure = self.sure.factor_blocks(pattern, matrix)
            return _Factors(None, sure, jnp.asarray(False))
        fast = RangeSpace().factor_blocks(pattern, matrix)
        good = accurate(fast)
        like = jax.eval_shape(lambda x: self.sure.factor_blocks(pattern, x), matrix)
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like)
        sure = lazily(~good, lambda x: self.sure.factor_blocks(pattern, x), matrix, nothing)
        return _Factors(fast, sure, good)

    def solve_blocks(
        self, pattern: Pattern, factors: _Factors, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        return self._solve(pattern, factors, f, g, False)

    def solve_blocks_transposed(
        self, pattern: Pattern, factors: _Factors, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        return self._solve(pattern, factors, f, g, True)

    def _solve(self, pattern, factors: _Factors, f, g, transposed: bool):
        sure = self.sure
        method = sure.solve_blocks_transposed if transposed else sure.solve_blocks
        if factors.fast is None:
            return method(pattern, factors.sure, f, g)
        # Ideal forces: the matrix is symmetric.
        x, lam = RangeSpace().solve_blocks(pattern, factors.fast, f, g)
        return lazily(~factors.good, lambda g: method(pattern, factors.sure, f, g), g, (x, lam))

    def regular_blocks(self, pattern: Pattern, factors: _Factors) -> Bool[Array, ""]:
        return factors.good | self.sure.regular_blocks(pattern, factors.sure)

    def explain_blocks(self, pattern: Pattern) -> str:
        return (
            f"{RangeSpace().explain_blocks(pattern)}\nWhere its pivots are too small, or forces "
            f"are not ideal: {self.sure.explain_blocks(pattern)}"
        )

    def refinements(self, pattern: Pattern) -> int:
        return self.sure.refinements(pattern)


def accurate(factors: Any) -> Bool[Array, ""]:
    """Whether so few of sixteen digits cancel in the range space that twelve are left."""
    return factors.smallest > jnp.finfo(factors.smallest.dtype).eps ** 0.25
