"""One system with a block-structured matrix, solved once and differentiable."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._implicit import lazily, linear_solve
from ._base import AbstractBlockSolver
from ._pattern import BlockMatrix, multiply, Pattern
from ._range_space import RangeSpace
from ._small import transpose
from ._watched import accurate, Watched


class SaddleFactors(eqx.Module):
    """The factors of a matrix, by the fast way or by the sure one.

    - `fast`: those of [`jaxspark.linear.RangeSpace`][], or `None`.
    - `sure`: those of the solver that was chosen, if there are no fast ones.
    - `matrix`: no derivative flows through it.
    """

    fast: Any
    sure: Any
    matrix: BlockMatrix


def factor_saddle(
    solver: AbstractBlockSolver, pattern: Pattern, matrix: BlockMatrix, fast: bool = True
) -> SaddleFactors:
    """Factorise a matrix.

    **Arguments:**

    - `fast`: whether a solver that is [`Watched`][] may be fast: twice the code to compile.
    """
    matrix = jax.lax.stop_gradient(matrix)
    if fast and matrix.C is None and isinstance(solver, Watched):
        return SaddleFactors(RangeSpace().factor_blocks(pattern, matrix), None, matrix)
    return SaddleFactors(None, _sure(solver).factor_blocks(pattern, matrix), matrix)


def _sure(solver: AbstractBlockSolver) -> AbstractBlockSolver:
    return solver.sure if isinstance(solver, Watched) else solver


def solve_saddle(
    solver: AbstractBlockSolver,
    pattern: Pattern,
    matrix: BlockMatrix,
    factors: SaddleFactors,
    f: Float[Array, "nb q k"],
    g: Float[Array, "m k"],
    or_nan: bool = False,
) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
    """`(x, lam)` with `K x + C^T lam = f`, `B x = g`, differentiable; NaN if not determined.

    **Arguments:**

    - `solver`: for matrices for which the range-space method is not accurate.
    - `pattern`, `matrix`: of which derivatives are taken.
    - `factors`: of the same matrix, by `factor_saddle`.
    - `f`, `g`: the right-hand sides.
    - `or_nan`: as for `linear_solve`.
    """
    nb, q, k = f.shape
    count = nb * q

    def joined(x, lam):
        # One vector: a right-hand side of many arrays, some constant, does not transpose.
        return jnp.concatenate([x.reshape(count, k), lam])

    def split(u):
        return u[:count].reshape(nb, q, k), u[count:]

    def matvec(u):
        return joined(*multiply(pattern, matrix, *split(u)))

    def solve(rhs):
        return joined(*_solve(solver, pattern, factors, *split(rhs), False))

    def solve_transposed(rhs):
        return joined(*_solve(solver, pattern, factors, *split(rhs), True))

    return split(linear_solve(matvec, joined(f, g), solve, solve_transposed, or_nan=or_nan))


def _solve(
    solver: AbstractBlockSolver,
    pattern: Pattern,
    factors: SaddleFactors,
    f: Array,
    g: Array,
    transposed: bool,
) -> tuple[Array, Array]:
    matrix, solver = factors.matrix, _sure(solver)
    if transposed:
        matrix = BlockMatrix(transpose(matrix.K), matrix.forces, matrix.B, matrix.diagonal)

    def surely(sure, f, g):
        method = solver.solve_blocks_transposed if transposed else solver.solve_blocks
        regular = solver.regular_blocks(pattern, sure)
        x, lam = method(pattern, sure, f, g)
        for _ in range(solver.refinements(pattern)):
            forces, rows = multiply(pattern, matrix, x, lam)
            dx, dlam = method(pattern, sure, f - forces, g - rows)
            x, lam = x + dx, lam + dlam
        return jnp.where(regular, x, jnp.nan), jnp.where(regular, lam, jnp.nan)

    if factors.fast is None:
        return surely(factors.sure, f, g)
    x, lam = RangeSpace().solve_blocks(pattern, factors.fast, f, g)

    def anew(g):
        return surely(solver.factor_blocks(pattern, factors.matrix), f, g)

    return lazily(~accurate(factors.fast), anew, g, (x, lam))
