"""CPU time and steps against the error on the slow motion, whatever the stiffness."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import jaxspark

from .. import peers
from .._figures import at_least, at_most, Figure, note
from ..adaptive._work_precision import seconds_at
from ._solvers import (
    BDF,
    Failures,
    FORCES,
    GAUSS,
    ours,
    PROBLEMS,
    RADAU2,
    RADAU3,
    rivals,
    SLOW,
)


STIFFNESSES = tuple(10.0**-k for k in range(3, 9))
# Costs are compared at these: what others do hardly depends on the stiffness.
COMPARED = (1e-3, 1e-5, 1e-8)
TOLERANCES = tuple(10.0 ** -(k / 2) for k in range(4, 19))
AGREED = 1e-5  # the stiffness at which references are compared
TARGET, FASTER = 1e-5, 5
SECONDS = 1.0  # a run that takes longer is a solver's last
EXACT = 1e-11  # the tolerance of the reference


class Point(NamedTuple):
    """One run: its tolerance, error and CPU seconds."""

    tolerance: float
    error: float
    seconds: float


class Cost(NamedTuple):
    """What an error of `TARGET` costs: CPU seconds, and steps at the loosest tolerance."""

    seconds: float
    steps: int


NEVER = Cost(float("inf"), 0)


def work_precision(tiny: bool) -> Iterator[Figure]:
    """Four mechanisms, six decades of stiffness, jaxspark's methods and others, in one run.

    The error is the greatest of the coordinates of the bodies at the end, without elongations,
    against our method at a tolerance of 1e-11. Costs are CPU time of this process, interpolated
    between tolerances. The springs' elongations are coordinates for all solvers: that suits
    others, too. What others make of the springs' forces instead is reported beside.
    """
    names, several, compared = tuple(PROBLEMS), STIFFNESSES, COMPARED
    if tiny:
        names, several, compared = names[:1], (1e-5,), (1e-5,)
    for name in names:
        methods = ours(name)
        if tiny:
            methods = [method for method in methods if method.name in (RADAU3, BDF)]
        reference = methods[0]
        yield from _agreement(name, AGREED, reference, tiny)
        yield from _robustness(name, several, reference)
        costs: dict[float, dict[str, Cost]] = {}
        for eps in compared:
            exact = slow(name, eps, reference)
            problem = PROBLEMS[name].build(eps)
            makes = [lambda method=method: method.at(problem) for method in methods]
            makes += list(rivals(name, eps))[: 1 if tiny else None]
            costs[eps] = {}
            for make in makes:
                solver = make()
                points = sweep(solver, exact, TOLERANCES[2:9:6] if tiny else TOLERANCES)
                costs[eps][solver.name] = cost = _cost(solver, points)
                yield _line(name, eps, solver.name, cost, points)
        yield from _comparison(name, costs)


def slow(name: str, eps: float, reference: Any) -> np.ndarray:
    """Where the bodies are at the end."""
    solver = reference.at(PROBLEMS[name].build(eps))
    return solver.read(solver.run(EXACT)()).end[: PROBLEMS[name].positions]


def _robustness(name: str, several: Sequence[float], method: Any) -> Iterator[Figure]:
    """Counts, errors and failures of the recommended method."""
    problems = [PROBLEMS[name].build(eps) for eps in several]
    exact = [slow(name, eps, method) for eps in several]
    failed = Failures(jaxspark.GGL(jaxspark.RadauIIA(3), error_norm=SLOW), problems[0])
    for tolerance in (1e-3, 1e-5):
        counts, errors, failures = [], [], 0
        for problem, end in zip(problems, exact, strict=True):
            solver = method.at(problem)
            run = solver.run(tolerance)
            errors.append(_error(solver.read(run()).end, end))
            counts.append(solver.count(tolerance))
            failures += failed.count(problem, tolerance)
        where = f"{name}, {RADAU3}, tolerance {tolerance:g}, eps {several[0]:g} to {several[-1]:g}"
        yield note(f"{where}: steps", ", ".join(map(str, counts)))
        if PROBLEMS[name].limit is not None:
            yield at_most(f"{where}: steps, largest less smallest", np.ptp(counts), 1, "d")
        yield at_most(f"{where}: failures of Newton's iteration", failures, 0, "d")
        yield at_most(f"{where}: error over tolerance", max(errors) / tolerance, 2)


def _agreement(name: str, eps: float, reference: Any, tiny: bool) -> Iterator[Figure]:
    """The reference next to the rigid mechanism and to solve_dae."""
    exact, limit = slow(name, eps, reference), PROBLEMS[name].limit
    if limit is not None:
        rigid = limit()
        end = jaxspark.solve(
            rigid.system, rigid.y0, rigid.z0, rigid.args, method=jaxspark.Gauss(4), t1=rigid.t_end,
            rtol=1e-12,
        )  # fmt: skip
        softness = eps if "bushing" in name else eps**2
        what = f"{name}: reference at eps = {eps:g} from the rigid mechanism"
        yield at_most(what, _error(np.asarray(end.y1), exact), 100 * softness + 1e-8)
    if not tiny:
        other = peers.SolveDAE(peers.stiff_mechanisms(eps)[name][1])
        what = f"{name}: reference at eps = {eps:g} from solve_dae at a tolerance of 1e-9"
        yield at_most(what, _error(other.read(other.run(1e-9)()).end, exact), 1e-8)


def _error(end: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.abs(end[: len(exact)] - exact)))


def sweep(solver: Any, exact: np.ndarray, tolerances: Sequence[float]) -> list[Point]:
    """Runs from loose to tight tolerances, to a tenth of the target; failures are left out.

    After three failures one after another a solver is given up.
    """
    points, failures = [], 0
    for tolerance in tolerances:
        if failures == 3:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of singular matrices, where a solver gives up
                result, seconds = peers.least_seconds(solver.run(tolerance), 4, 0.04)
            error = _error(solver.read(result).end, exact)
        except (RuntimeError, ValueError, ArithmeticError, np.linalg.LinAlgError):
            failures += 1
            continue
        failures = 0
        points.append(Point(tolerance, error, seconds))
        if error < TARGET / 10 or seconds > SECONDS:
            break
    return points


def _cost(solver: Any, points: Sequence[Point]) -> Cost:
    good = [point for point in points if point.error <= TARGET]
    if not good:
        return NEVER
    return Cost(seconds_at(points, TARGET), solver.count(max(good).tolerance))


def _line(name: str, eps: float, solver: str, cost: Cost, points: Sequence[Point]) -> Figure:
    what = f"{name}, eps {eps:g}, {solver}: CPU ms and steps at error {TARGET:g}; best error"
    words = f"{1e3 * cost.seconds:.3g}, {cost.steps}" if cost is not NEVER else "-"
    best = f"{min(point.error for point in points):.1e}" if points else "none"
    return note(what, f"{words}; {best}")


def _comparison(name: str, costs: dict[float, dict[str, Cost]]) -> Iterator[Figure]:
    """How much faster ours is, for the stiffness where it is least."""
    own = {RADAU3, RADAU2, GAUSS, BDF}
    outside = [solver for solver in next(iter(costs.values())) if solver not in own]
    forces = [solver for solver in outside if solver.endswith(FORCES)]
    against = {"BDF2-CM": [BDF], "the best from outside": outside}
    against |= {"our Gauss": [GAUSS], "the best from outside with springs' forces": forces}
    for words, solvers in against.items():
        ratios = {
            eps: min((found.get(solver, NEVER).seconds for solver in solvers), default=np.inf)
            / found[RADAU3].seconds
            for eps, found in costs.items()
        }
        where = f"eps {next(iter(ratios)):g} to {list(ratios)[-1]:g}"
        what = f"{name}, error {TARGET:g}: CPU time of {words} over that of {RADAU3}"
        listed = ", ".join(f"{ratio:.1f}" for ratio in ratios.values())
        yield note(f"{what}, {where}; inf where it is not reached", listed)
        # Where hardly anything moves, every solver is there in a few steps.
        if solvers in ([BDF], outside) and PROBLEMS[name].limit is not None:
            yield at_least(f"{what}, least of {where}", min(ratios.values()), FASTER)
