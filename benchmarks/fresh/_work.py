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
LONGEST = 0.3  # seconds of a call after which no tighter tolerance is tried

# From a tolerance to a call, which returns the state at the end and whether it got there.
Runs = Callable[[float], Callable[[], tuple[Any, Any]]]


def seconds(call: Callable[[], Any], least: float = LEAST) -> float:
    """The least CPU time of several calls, after one that compiles.

    - `least`: how long they are repeated (CPU s).
    """
    jax.block_until_ready(call())
    found, total = [], 0.0
    while len(found) < CALLS or total < least:
        begun = time.process_time()
        jax.block_until_ready(call())
        found.append(time.process_time() - begun)
        total += found[-1]
    return min(found)


def sweep(runs: Runs, goal: np.ndarray, tolerances: Sequence[float]) -> list[Point]:
    """The runs that get to the end, from the loosest tolerance on.

    **Arguments:**

    - `goal`: the state that they are to end at.
    """
    points = []
    for tolerance in tolerances:
        call = runs(tolerance)
        end, good = call()
        if not good:
            continue
        error = relative(np.asarray(end), goal)
        points.append(Point(tolerance, error, seconds(call), math.nan))
        if points[-1].seconds > LONGEST:
            break
    return points


def loosest(points: Sequence[Point], error: float) -> float:
    """The largest tolerance from which on all errors are small enough.

    **Raises:** `RuntimeError` if the error is not reached.
    """
    tolerance = None
    for point in reversed(points):
        if point.error > error:
            break
        tolerance = point.tolerance
    if tolerance is None:
        raise RuntimeError(f"The error {error:g} is not reached.")
    return tolerance
