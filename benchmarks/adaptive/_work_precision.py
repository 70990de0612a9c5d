"""CPU time against the error at the end, next to other solvers of the same equations."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

import jaxspark

from .. import peers
from .._figures import at_least, at_most, Figure, note


ERRORS = (1e-3, 1e-5, 1e-7, 1e-9)
TOLERANCES = tuple(10.0**-k for k in range(2, 13))
METHODS = {
    "Gauss(2)": jaxspark.Gauss(2),
    "Gauss(3)": jaxspark.Gauss(3),
    "Gauss(4)": jaxspark.Gauss(4),
    "Radau IIA(3)": jaxspark.RadauIIA(3),
}
OF_SPARK, PROJECTED = tuple(METHODS), "projected Dopri8"
OURS = (*OF_SPARK, PROJECTED)
OF_IDA, OF_SOLVE_DAE = ("IDA gglint", "IDA ggl"), ("solve_dae Radau(3)",)
FASTER_THAN_IDA, FASTER_THAN_SOLVE_DAE = 4, 10
EXACT = 1e-10  # where a sweep of tolerances ends
SECONDS = 5.0  # a run that takes longer is a solver's last


class Point(NamedTuple):
    """One run: its tolerance, error, CPU seconds and greatest residual of a constraint."""

    tolerance: float
    error: float
    seconds: float
    worst: float


Costs = dict[str, dict[float, float]]


def work_precision(tiny: bool) -> Iterator[Figure]:
    """Five problems, jaxspark's methods and its peers, all in one run.

    Ours are the SPARK methods and Dopri8 on the underlying ODE, each step projected. All of them
    keep the constraints.

    The error is the greatest of `|x_i - ref_i| / (1 + |ref_i|)` over positions and velocities
    at the end, the cost the CPU time of this process, which other processes distort least.
    Equations are the same for all: see `benchmarks.peers`.
    """
    for kind in peers.MECHANISMS[:1] if tiny else peers.MECHANISMS:
        mechanism = kind()
        costs: Costs = {}
        worst = 0.0
        for make in _solvers(mechanism):
            solver = make()
            points = sweep(solver, mechanism, (1e-4, 1e-7) if tiny else TOLERANCES)
            costs[solver.name] = {error: seconds_at(points, error) for error in ERRORS}
            yield _milliseconds(mechanism.name, solver.name, costs[solver.name], points)
            if solver.name in OURS:
                worst = max([worst, *(point.worst for point in points)])
        yield from _comparison(mechanism.name, costs)
        what = f"{mechanism.name}: greatest residual of g, g' and k, all methods and tolerances"
        yield at_most(what, worst, 1e-12)


def _solvers(mechanism: peers.Mechanism) -> Iterator[Callable[[], peers.Solver]]:
    for name, method in METHODS.items():
        yield lambda name=name, method=method: peers.spark(mechanism, method, name)
    yield lambda: peers.projected(mechanism)
    yield lambda: peers.IDA(mechanism, "gglint")
    yield lambda: peers.IDA(mechanism, "ggl")
    yield lambda: peers.SolveDAE(mechanism)
    yield lambda: peers.drifting(mechanism)


def sweep(
    solver: peers.Solver, mechanism: peers.Mechanism, tolerances: Sequence[float]
) -> list[Point]:
    """Its runs, from loose to tight tolerances; one that fails is left out.

    Residuals are those at the end where the solver reports none.
    """
    points = []
    for tolerance in tolerances:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of singular matrices, where a solver gives up
                result, seconds = peers.least_seconds(solver.run(tolerance))
            run = solver.read(result)
        except (RuntimeError, ValueError, ArithmeticError, np.linalg.LinAlgError):
            continue  # where a solver fails, it does not reach the error
        error = peers.end_error(mechanism, run.end)
        worst = run.worst if np.isfinite(run.worst) else peers.end_residual(mechanism, run.end)
        points.append(Point(tolerance, error, seconds, worst))
        if error < EXACT or seconds > SECONDS:
            break
    return points


def seconds_at(points: Sequence[Point], error: float) -> float:
    """The least cost of an error, interpolated between logarithms; infinite if not reached.

    Between the least accurate run that reaches it and the most accurate one that does not.
    """
    good = [point for point in points if point.error <= error]
    bad = [point for point in points if point.error > error]
    if not good:
        return float("inf")
    least = min(point.seconds for point in good)
    inside = max(good, key=lambda point: point.error)
    if not bad or not inside.error > 0:
        return least
    outside = min(bad, key=lambda point: point.error)
    if outside.seconds >= inside.seconds:
        return least
    errors, seconds = np.log([(p.error, p.seconds) for p in (inside, outside)]).T
    return min(least, float(np.exp(np.interp(np.log(error), errors, seconds))))


def _milliseconds(problem: str, solver: str, costs: dict[float, float], points: Sequence[Point]):
    words = [f"{1e3 * cost:.3g}" if np.isfinite(cost) else "-" for cost in costs.values()]
    best = min((point.error for point in points), default=float("nan"))
    what = f"{problem}, {solver}: CPU milliseconds at errors 1e-3, 1e-5, 1e-7, 1e-9; best error"
    return note(what, f"{', '.join(words)}; {best:.1e}")


def _comparison(problem: str, costs: Costs) -> Iterator[Figure]:
    """The best of ours against the peers, error by error, and which that is."""
    peers_of = (
        ("IDA", OF_IDA, FASTER_THAN_IDA),
        ("solve_dae", OF_SOLVE_DAE, FASTER_THAN_SOLVE_DAE),
    )
    for error in ERRORS:
        name, ours = _best(costs, OURS, error)
        _, spark = _best(costs, OF_SPARK, error)
        for peer, names, bound in peers_of:
            _, theirs = _best(costs, names, error)
            what = f"{problem}, error {error:g}: CPU time of {peer} over that of {name}"
            if np.isfinite(theirs):
                yield at_least(what, theirs / ours, bound)
            else:
                yield note(what, "not reached by the peer")
                continue
            if name not in OF_SPARK:
                what = f"{problem}, error {error:g}: the same over the best SPARK method's"
                yield note(what, f"{theirs / spark:.2f}")
    theirs = costs[peers.KKT_ODE][1e-7]
    name, ours = _best(costs, OURS, 1e-7)
    what = f"{problem}, error 1e-07: CPU time of the drifting Dopri8 over"
    if not np.isfinite(theirs):
        yield note(f"{what} that of {name}", "not reached by the peer")
        return
    yield at_least(f"{what} that of {name}", theirs / ours, 1)
    if name not in OF_SPARK:
        ratio = theirs / _best(costs, OF_SPARK, 1e-7)[1]
        yield note(f"{what} the best SPARK method's", f"{ratio:.2f}")


def _best(costs: Costs, names: Sequence[str], error: float) -> tuple[str, float]:
    """The fastest of these solvers, and its cost."""
    name = min(names, key=lambda name: costs[name][error])
    return name, costs[name][error]
