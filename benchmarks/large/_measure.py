"""Cost of a solver inside `jit`: CPU time, compile time, the largest array it makes."""

import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxspark._blocks._base import AbstractBlockSolver
from jaxspark._blocks._pattern import BlockMatrix, Pattern

from .._array_sizes import array_sizes
from ._case import Case
from ._splu import least_seconds, Seconds, SOLVES


Solution = tuple[jax.Array, jax.Array]


def factor_and_solve(
    solver: AbstractBlockSolver, pattern: Pattern, solves: int = 1
) -> Callable[[BlockMatrix, jax.Array, jax.Array], Solution]:
    """A function of the values and the right-hand side; each solve follows the one before."""

    def function(matrix, f, g):
        factors = solver.factor_blocks(pattern, matrix)

        def again(_, carry):
            x, lam = solver.solve_blocks(pattern, factors, *carry)
            # As large as at first, whatever the matrix.
            return f + 1e-9 * x / (1 + abs(x)), g + 1e-9 * lam / (1 + abs(lam))

        if solves > 1:
            f, g = jax.lax.fori_loop(0, solves - 1, again, (f, g))
        return solver.solve_blocks(pattern, factors, f, g)

    return function


@functools.lru_cache(maxsize=256)
def compiled(
    solver: AbstractBlockSolver, pattern: Pattern, solves: int = 1
) -> Callable[[BlockMatrix, jax.Array, jax.Array], Solution]:
    """The same inside `jit`, once for each pattern."""
    return jax.jit(factor_and_solve(solver, pattern, solves))


def seconds(solver: AbstractBlockSolver, case: Case) -> Seconds:
    """CPU seconds of one and of ten solves."""
    return Seconds(*(solve_seconds(solver, case, solves) for solves in (1, SOLVES)))


def solve_seconds(solver: AbstractBlockSolver, case: Case, solves: int = 1) -> float:
    """CPU seconds of one factorisation and so many solves."""
    return call_seconds(
        compiled(solver, case.pattern, solves), case.matrix, *case.right_hand_side()
    )


def call_seconds(run: Callable[..., Any], *arguments: Any, repeats: int = 7) -> float:
    """CPU seconds of a call of a compiled function."""
    jax.block_until_ready(run(*arguments))
    return least_seconds(lambda: jax.block_until_ready(run(*arguments)), repeats)


def compile_seconds(solver: AbstractBlockSolver, case: Case) -> float:
    """CPU seconds to analyse, trace and compile one factorisation and solve."""
    jax.clear_caches()
    arguments = case.matrix, *case.right_hand_side()
    start = time.process_time()
    jax.jit(factor_and_solve(solver, case.pattern)).lower(*arguments).compile()
    return time.process_time() - start


def backward_error(solver: AbstractBlockSolver, case: Case) -> float:
    """Of one right-hand side, by a compiled function."""
    rhs = case.right_hand_side()
    return case.backward_error(solution(solver, case, rhs), rhs)


def solution(solver: AbstractBlockSolver, case: Case, rhs: Solution) -> Solution:
    """By a compiled function."""
    return compiled(solver, case.pattern)(case.matrix, *rhs)


def largest_array(solver: AbstractBlockSolver, case: Case) -> int:
    """The number of elements of the largest array in the program."""
    arguments = case.matrix, *case.right_hand_side()
    program = jax.make_jaxpr(factor_and_solve(solver, case.pattern))(*arguments)
    return max(array_sizes(program), default=0)


def exponents(sizes: list[int], costs: list[float]) -> tuple[float, float]:
    """Of the cost as a power of the size: by least squares, and the largest between neighbours."""
    x, y = np.log(sizes), np.log(costs)
    slope = float(np.polyfit(x, y, 1)[0]) if len(sizes) > 1 else 0.0
    return slope, float(np.max(np.diff(y) / np.diff(x), initial=-np.inf))
