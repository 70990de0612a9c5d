"""What a run of a solver gives, and what it costs."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np


class Run(NamedTuple):
    """The end of a run.

    - `end`: the coordinates and velocities at the final time, joined.
    - `worst`: the greatest residual of a constraint, as the solver reports it; NaN if not.
    """

    end: np.ndarray
    worst: float = float("nan")


class Solver(Protocol):
    """A solver of one problem, compiled when it is made.

    - `name`: in the report.
    """

    name: str

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        ...

    def read(self, result: Any) -> Run:
        """What the function returned.

        **Raises:** `RuntimeError` if the solver failed.
        """
        ...


def least_seconds(
    function: Callable[[], Any], blocks: int = 4, block: float = 0.06
) -> tuple[Any, float]:
    """What the function returns, and the CPU seconds of a call, all threads of this process.

    The least mean of several blocks of calls. A block is long because the time of other threads
    is accounted for with a delay. Where a call takes longer than all blocks should, one is made.
    """
    start = time.process_time()
    result = function()
    least = first = time.process_time() - start
    if first > blocks * block:
        return result, first
    for k in range(blocks):
        calls, start = 0, time.process_time()
        while calls == 0 or time.process_time() - start < block:
            result = function()
            calls += 1
        mean = (time.process_time() - start) / calls
        least = mean if k == 0 else min(least, mean)
    return result, least
