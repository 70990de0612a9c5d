"""CPU time of one trajectory at an error of 1e-7, next to that of others in the same run."""

from collections.abc import Iterator

from .. import peers
from .._figures import at_most, Figure, note
from ..adaptive._work_precision import Point, seconds_at, sweep
from ._composed import points


ERROR = 1e-7
# Milliseconds, by mechanism.
TARGETS = {"pendulum": 0.3, "andrews": 3.0, "heavytop": 4.0, "sleigh": 0.4, "caraxis": 3.0}
TOLERANCES = tuple(10.0**-k for k in range(5, 11))
COMPOSED = {"pendulum": {8: (90, 110, 125, 140), 10: (50, 60, 65, 75)}}
# Tolerances at which rivals have passed the error.
RIVALS = tuple(10.0**-k for k in range(5, 12))


def single(tiny: bool) -> Iterator[Figure]:
    """Five mechanisms: ours, each step on the constraints, and the solvers that others use."""
    for kind in peers.MECHANISMS[:1] if tiny else peers.MECHANISMS:
        mechanism = kind()
        yield from _of(mechanism, tiny)


def _of(mechanism: peers.Mechanism, tiny: bool) -> Iterator[Figure]:
    name = mechanism.name
    costs: dict[str, float] = {}
    worst = 0.0
    for order, counts in COMPOSED.get(name, {}).items():
        found = points(mechanism, order, counts[:1] if tiny else counts)
        costs[f"RATTLE composed to order {order}"] = seconds_at(found, ERROR)
        worst = max([worst, *(point.worst for point in found)])
    explicit = peers.Projected(mechanism)
    found = sweep(explicit, mechanism, TOLERANCES[:2] if tiny else TOLERANCES)
    costs[explicit.name] = seconds_at(found, ERROR)
    worst = max([worst, *(explicit.worst(point.tolerance) for point in found[-1:])])
    for solver, seconds in costs.items():
        yield note(f"{name}, {solver}: CPU ms at an error of 1e-7", f"{1e3 * seconds:.3f}")
    best = min(costs.values())
    yield at_most(f"{name}: CPU ms at an error of 1e-7", 1e3 * best, TARGETS[name], ".3f")
    yield at_most(f"{name}: greatest residual of a constraint", worst, 1e-13)
    for rival in (peers.drifting(mechanism), peers.IDA(mechanism, "gglint")):
        theirs = seconds_at(_rival(rival, mechanism, tiny), ERROR)
        yield note(f"{name}, {rival.name}: CPU ms at an error of 1e-7", f"{1e3 * theirs:.3f}")
        yield note(f"{name}, {rival.name}: CPU time over ours", f"{theirs / best:.1f}")


def _rival(solver: peers.Solver, mechanism: peers.Mechanism, tiny: bool) -> list[Point]:
    return sweep(solver, mechanism, RIVALS[:2] if tiny else RIVALS)
