"""Chains simulated: what a second and what a step cost, and how that grows with their length."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ._angles import angles
from ._chain_ida import ida_run, installed
from ._chains import Model, planar_chain, spatial_chain
from ._integrate import End, explicit_run, integrate, residuals, small_step, spark_run
from ._measure import call_seconds, exponents
from ._splu import least_seconds


TARGET, EXPONENT = 1e-4, 1.1
TOLERANCES = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
LONG_TOLERANCE = 1e-4  # of chains without a reference
LONGEST, SHORT = 512, 0.05  # the longest chain with a reference; what is simulated of longer ones
SECONDS = {32: 0.03, 512: 1.5}
SLOWEST_SPATIAL = 0.2  # s simulated
RIVAL = 1e-5  # the tolerance at which IDA's error is about the target


class Cost(NamedTuple):
    """CPU seconds per simulated second and per step."""

    second: float
    step: float


def simulation(tiny: bool) -> Iterator[Figure]:
    """The planar chain next to IDA, the same by equal SPARK steps, and a spatial chain."""
    sizes = [8] if tiny else [8, 32, 128, 512, 2048]
    costs: dict[int, Cost] = {}
    for n in sizes:
        yield from _planar(n, costs, SHORT if tiny else 1.0)
    yield from _growth("planar chain, explicit", {n: costs[n].step for n in costs})
    yield from _rival([8] if tiny else [32, 128, 512], costs, SHORT if tiny else 1.0)
    sizes = [n for n in sizes if n <= LONGEST]
    if tiny:
        return
    yield from _spark("planar chain", planar_chain, sizes, 2 if tiny else 50)
    yield from _spatial(sizes, tiny)
    yield from _spark("spatial chain", spatial_chain, sizes, 2 if tiny else 50)


def _planar(n: int, costs: dict[int, Cost], t_end: float) -> Iterator[Figure]:
    """At the loosest tolerance whose error is small enough; the longest at that of the last."""
    model = planar_chain(n)
    t_end = t_end if n <= LONGEST else SHORT
    tolerance, error = LONG_TOLERANCE, None
    if n <= LONGEST:
        exact = angles(n, t_end=t_end)
        for tolerance in TOLERANCES:
            error = _error(integrate(model, tolerance, t_end), exact)
            if error <= TARGET:
                break
        what = f"{model.name}, tolerance {tolerance:g}: error of the angles"
        yield at_most(what, error, TARGET)
    run = explicit_run(model, t_end)
    end = run(tolerance)
    seconds = call_seconds(run, tolerance, repeats=3)
    steps = int(end.steps)
    costs[n] = cost = Cost(seconds / t_end, seconds / steps)
    yield Figure(f"{model.name}: reaches {t_end:g} s", "True", str(bool(end.good)), bool(end.good))
    what = f"{model.name}, the first {t_end:g} s: CPU s per simulated s"
    bound = SECONDS.get(n)
    yield at_most(what, cost.second, bound, ".3g") if bound else note(what, f"{cost.second:.3g}")
    words = f"{steps}, {1e6 * cost.step:.4g}"
    yield note(f"{model.name}: steps, CPU microseconds of one", words)
    yield from _kept(model, end)


def _error(end: End, exact: np.ndarray) -> float:
    """NaN and failures count as infinite."""
    error = float(np.max(np.abs(np.asarray(end.y)[:, 2] - exact)))
    return error if bool(end.good) and np.isfinite(error) else float("inf")


def _kept(model: Model, end: End) -> Iterator[Figure]:
    g, gdot = residuals(model, end.y, end.z)
    yield at_most(f"{model.name}: greatest residual of g at the end", g, 1e-12)
    yield at_most(f"{model.name}: greatest residual of g' at the end", gdot, 1e-12)


def _growth(name: str, costs: dict[int, float]) -> Iterator[Figure]:
    """The exponent from 32 links on."""
    sizes = [n for n in costs if n >= 32] or list(costs)
    slope, steepest = exponents(sizes, [costs[n] for n in sizes])
    span = f"N = {sizes[0]} to {sizes[-1]}"
    yield at_most(f"{name}, cost of a step: exponent, {span}", slope, EXPONENT, ".2f")
    yield note(f"{name}: exponent between the worst neighbours", f"{steepest:.2f}")


def _rival(sizes: list[int], costs: dict[int, Cost], t_end: float) -> Iterator[Figure]:
    if not installed():
        yield note("planar chain: CPU time of IDA over ours", "skipped: IDA is not installed")
        return
    for n in sizes:
        model = planar_chain(n)
        run = ida_run(model, RIVAL, t_end)
        error = float(np.max(np.abs(run() - angles(n, t_end=t_end))))
        seconds = least_seconds(run, 1 if n > 128 else 3) / t_end
        what = f"{model.name}, IDA with a sparse Jacobian, tolerance {RIVAL:g}"
        yield note(f"{what}: CPU s per simulated s; error", f"{seconds:.3g}; {error:.1e}")
        yield note(f"{what}: CPU time over ours", f"{seconds / costs[n].second:.1f}")


def _spark(
    name: str, make: Callable[[int], Model], sizes: list[int], steps: int
) -> Iterator[Figure]:
    """Equal steps of three stages."""
    costs = {}
    for n in sizes:
        model = make(n)
        run = spark_run(model, jaxspark.Gauss(3), small_step(n), steps)
        found = run()
        costs[n] = call_seconds(run, repeats=3) / steps
        good = bool(found.result == jaxspark.RESULTS.successful)
        what = f"{model.name}, {steps} steps of Gauss(3)"
        yield Figure(f"{what}: succeed", "True", str(good), good)
        iterations = int(found.stats.newton_iterations) / steps
        words = f"{1e6 * costs[n]:.4g}, {iterations:.1f}"
        yield note(f"{what}: CPU microseconds and iterations of one", words)
        yield from _kept(model, End(found.y1, found.z1, steps, good))
    yield from _growth(f"{name}, Gauss(3)", costs)


def _spatial(sizes: list[int], tiny: bool) -> Iterator[Figure]:
    """Explicitly, against a tighter tolerance."""
    costs, tolerance = {}, 1e-5
    for n in sizes:
        model, t_end = spatial_chain(n), SHORT if tiny else min(SLOWEST_SPATIAL, 13 / n)
        run = explicit_run(model, t_end)
        end, exact = run(tolerance), run(tolerance / 1e3)
        error = float(np.max(np.abs(np.asarray(end.y - exact.y))))
        what = f"{model.name}, tolerance {tolerance:g}, the first {t_end:.3g} s"
        yield at_most(f"{what}: error of positions and quaternions", error, TARGET)
        costs[n] = call_seconds(run, tolerance, repeats=3) / int(end.steps)
        words = f"{int(end.steps)}, {1e6 * costs[n]:.4g}"
        yield note(f"{what}: steps, CPU microseconds of one", words)
        yield from _kept(model, end)
    yield from _growth("spatial chain, explicit", costs)
