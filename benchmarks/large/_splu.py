"""What SciPy's SuperLU needs for the same matrix, and how CPU time is measured."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import splu

from ._case import Case


SOLVES = 10


class Seconds(NamedTuple):
    """CPU seconds of one factorisation with one solve, and with ten, one after the other."""

    fs: float
    f10: float


def least_seconds(function: Callable[[], Any], repeats: int = 7, batch: float = 0.01) -> float:
    """The least process CPU time of a call: other processes distort that least.

    Calls shorter than `batch` seconds are measured several at a time.
    """
    start = time.process_time()
    function()
    times = math.ceil(batch / max(time.process_time() - start, 1e-6))
    least = math.inf
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(times):
            function()
        least = min(least, (time.process_time() - start) / times)
    return least


def solve_by_splu(case: Case, rhs: np.ndarray) -> np.ndarray:
    """The solution, with one step of refinement."""
    matrix = case.csc()
    factors = splu(matrix)
    x = factors.solve(rhs)
    return x + factors.solve(rhs - matrix @ x)


def splu_seconds(case: Case, repeats: int = 7) -> Seconds:
    """What SuperLU needs, the matrix already in compressed columns."""
    matrix, rhs = case.csc(), case.compact(*case.right_hand_side())

    def factor_and_solve(solves: int) -> np.ndarray:
        factors, x = splu(matrix), rhs
        for _ in range(solves):
            x = factors.solve(x)
        return x

    fs, f10 = (
        least_seconds(lambda solves=solves: factor_and_solve(solves), repeats)
        for solves in (1, SOLVES)
    )
    return Seconds(fs, f10)
