"""CPU time of one trajectory at an error of 1e-7, next to that of others in the same run."""

import math
from collections.abc import Callable, Iterator, Sequence

import jaxspark

from .. import peers
from .._figures import at_most, Figure, note
from .._result import is_ours, ours, Result
from ..adaptive._work_precision import Point, seconds_at, sweep
from ._composed import points


ERROR = 1e-7
# Milliseconds, by mechanism.
TARGETS = {"pendulum": 0.3, "andrews": 3.0, "heavytop": 4.0, "sleigh": 0.4, "caraxis": 3.0}
TOLERANCES = tuple(10.0**-k for k in range(5, 11))
COMPOSED = {
    "pendulum": {8: (90, 110, 125, 140), 10: (50, 60, 65, 75)},
    "caraxis": {8: (200, 300, 400)},
}
GENERAL = (3, 4)  # stages of Gauss methods, which make no use of a structure


def measure_single(tiny: bool) -> Iterator[Result]:
    """Five mechanisms: ours, each step on the constraints, and the solvers that others use."""
    for kind in peers.MECHANISMS[:1] if tiny else peers.MECHANISMS:
        mechanism = kind()
        yield from _ours(mechanism, tiny)
        for rival in peers.rivals(mechanism):
            solver = rival.make()
            found = sweep(solver, mechanism, rival.settings[:1] if tiny else rival.settings)
            yield from _results(mechanism, solver.name, found, rival.words)


def judge_single(results: Sequence[Result]) -> Iterator[Figure]:
    """The times at the error, against their targets and those of others."""
    for name in dict.fromkeys(result.problem for result in results):
        costs: dict[str, list[Point]] = {}
        worst = 0.0
        for result in results:
            if result.problem == name:
                point = Point(0.0, result.error, result.seconds, result.residual)
                costs.setdefault(result.solver, []).append(point)
                worst = max(worst, result.residual if is_ours(result.solver) else 0.0)
        at_error = {solver: seconds_at(found, ERROR) for solver, found in costs.items()}
        best = min(cost for solver, cost in at_error.items() if is_ours(solver))
        what = f"{name}: CPU ms at an error of 1e-7"
        yield at_most(what, 1e3 * best, TARGETS[name], ".3f")
        yield at_most(f"{name}: greatest residual of a constraint", worst, 1e-13)
        for solver, cost in at_error.items():
            if is_ours(solver):
                yield note(f"{name}, {solver}: CPU ms at an error of 1e-7", f"{1e3 * cost:.3f}")
            else:
                least = min(point.error for point in costs[solver])
                words = f"{1e3 * cost:.3f}; {cost / best:.1f}"
                words = words if cost < math.inf else f"not reached, {least:.1e}"
                yield note(f"{name}, {solver}: CPU ms at 1e-7; over ours", words)


def _ours(mechanism: peers.Mechanism, tiny: bool) -> Iterator[Result]:
    for order, counts in COMPOSED.get(mechanism.name, {}).items():
        solver = ours(f"RATTLE composed to order {order}")
        found = points(mechanism, order, counts[:1] if tiny else counts)
        yield from _results(mechanism, solver, found, lambda step: f"{round(1 / step)} steps")
    explicit = peers.projected(mechanism)
    found = sweep(explicit, mechanism, TOLERANCES[:2] if tiny else TOLERANCES)
    yield from _results(mechanism, ours(explicit.name), found, peers.tolerance)
    for stages in () if tiny else GENERAL:
        name = ours(f"Gauss({stages}), the general path")
        solver = peers.spark(mechanism, jaxspark.Gauss(stages), name)
        yield from _results(mechanism, name, sweep(solver, mechanism, TOLERANCES), peers.tolerance)


def _results(
    mechanism: peers.Mechanism,
    solver: str,
    found: Sequence[Point],
    words: Callable[[float], str],
) -> Iterator[Result]:
    for point in found:
        yield Result(
            "work-precision", mechanism.name, solver, words(point.tolerance), point.seconds,
            point.error, point.worst,
        )  # fmt: skip
