"""What the estimate of the global error costs, in solves."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ..audit._members import MECHANISMS


NAMES = ("pendulum", "snakeboard", "spatial_slider_crank", "rattleback")
METHODS = (jaxspark.DOP853(), jaxspark.Gauss(2), jaxspark.Gauss(3))
TOLERANCE, MOST, REPEATS = 1e-7, 1.5, 9


def cost(tiny: bool) -> Iterator[Figure]:
    """CPU time with the estimate, less that without it, over the latter; medians in turns."""
    ratios = []
    for name in NAMES[:1] if tiny else NAMES:
        mechanism = MECHANISMS[name]
        start = mechanism.seeded(0)
        for method in METHODS[:1] if tiny else METHODS:

            def solve(start, estimate, mechanism=mechanism, method=method):
                return jaxspark.solve(
                    mechanism.system, *start, method=method, t1=mechanism.t1, rtol=TOLERANCE,
                    global_error=estimate, max_steps=20_000, throw=False,
                )  # fmt: skip

            without = jax.jit(lambda start, solve=solve: solve(start, False))
            estimated = jax.jit(lambda start, solve=solve: solve(start, True))
            alone, both = _medians(without, estimated, start, 1 if tiny else REPEATS)
            ratios.append(both / alone - 1)
            yield note(f"{name}, {method}: solves that the estimate costs", f"{ratios[-1]:.2f}")
    if not tiny:
        mean = float(np.exp(np.mean(np.log(ratios))))
        yield at_most("solves that the estimate costs, mean", mean, MOST, ".2f")


def _medians(
    first: Callable[[Any], Any], second: Callable[[Any], Any], operand: Any, repeats: int
) -> tuple[float, float]:
    seconds: tuple[list[float], list[float]] = ([], [])
    for run in (first, second):
        jax.block_until_ready(run(operand))
    for _ in range(repeats):
        for run, own in zip((first, second), seconds, strict=True):
            begun = time.process_time()
            jax.block_until_ready(run(operand))
            own.append(time.process_time() - begun)
    return float(np.median(seconds[0])), float(np.median(seconds[1]))
