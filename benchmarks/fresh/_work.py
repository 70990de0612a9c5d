"""What calls cost, and sweeps of tolerances."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..adaptive._work_precision import Point
from ..audit._reference import relative


LEAST, CALLS = 0.05, 3  # seconds of repetitions, and how many there are at least
LONGEST = 1.0  # seconds of a call after which no tighter tolerance is tried

# The state at the end and whether it got there, of a tolerance.
Run = Callable[[float], tuple[Any, Any]]


def seconds(call: Callable[[], Any]) -> float:
    """The least CPU time of several calls, after one that compiles."""
    jax.block_until_ready(call())
    found, total = [], 0.0
    while len(found) < CALLS or total < LEAST:
        begun = time.process_time()
        jax.block_until_ready(call())
        found.append(time.process_time() - begun)
        total += found[-1]
    return min(found)


def sweep(run: Run, goal: np.ndarray, tolerances: Sequence[float]) -> list[Point]:
    """The runs that get to the end, from the loosest tolerance on.

    **Arguments:**

    - `goal`: the state that they are to end at.
    """
    points = []
    for tolerance in tolerances:
        end, good = run(tolerance)
        if not good:
            continue
        error = relative(np.asarray(end), goal)
        points.append(Point(tolerance, error, seconds(lambda t=tolerance: run(t)), math.nan))
        if points[-1].seconds > LONGEST:
            break
    return points


def loosest(points: Sequence[Point], error: float) -> float:
    """The largest tolerance from which on all errors are small enough; else the tightest."""
    tolerance = points[-1].tolerance
    for point in reversed(points):
        if point.error > error:
            break
        tolerance = point.tolerance
    return tolerance
