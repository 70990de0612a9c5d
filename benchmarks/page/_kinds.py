"""CPU time against the error, one problem for each kind that the site's advice distinguishes."""

from collections.abc import Iterator, Sequence
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._result import ours, Result
from ..audit._reference import Reference
from ..fresh._mechanism import Fresh
from ..fresh._members import MEMBERS
from ..fresh._outside import outside
from ..fresh._programs import by_hand, ours as ours_on, Program
from ..fresh._work import Runs, sweep
from ..large._angles import angles
from ..large._chain_ida import ida_run, installed
from ..large._chains import planar_chain
from ..large._integrate import explicit_run
from ..large._measure import call_seconds
from ..large._splu import least_seconds
from ..stiff._solvers import FORCES, ours as ours_on_stiff, PROBLEMS, RADAU3, rivals
from ..stiff._work_precision import slow, sweep as sweep_stiff


TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(4, 23))
METHODS = {
    "DOP853": jaxspark.DOP853(),
    "Tsit5": jaxspark.Tsit5(),
    "Gauss(3)": jaxspark.Gauss(3),
    "Lobatto(3)": jaxspark.Lobatto(3),
    "GGL(RadauIIA(3))": jaxspark.GGL(jaxspark.RadauIIA(3)),
}
HAND = {"Dopri8": diffrax.Dopri8(), "Tsit5": diffrax.Tsit5()}
FRESH = {
    "a planar closed loop": "watt",
    "bodies in space, a closed loop": "cardan",
    "rolling": "tricycle",
}
STIFF, EPS = "spring double pendulum", 1e-5
LINKS, OF_CHAIN = 32, tuple(10.0 ** (-k / 2) for k in range(4, 15))


def kinds(tiny: bool) -> Iterator[Result]:
    """Five kinds of problems: our methods, and what is made by hand or comes from outside.

    Mechanisms without stiff parts are those of the topic `fresh`, the stiff one is that of `stiff`,
    and the chain is that of `large`.
    """
    for kind, name in list(FRESH.items())[: 1 if tiny else None]:
        yield from _fresh(f"{kind}: {name}", MEMBERS[name], tiny)
        jax.clear_caches()
    if not tiny:
        yield from _stiff()
        yield from _chain()


def _fresh(problem: str, fresh: Fresh, tiny: bool) -> Iterator[Result]:
    start = fresh.start()
    member, seeded = fresh.of_audit()
    exact = Reference(member).at(seeded)
    goal = np.concatenate([exact.y, exact.z])
    programs = {ours(name): ours_on(fresh, method) for name, method in METHODS.items()}
    programs |= {f"KKT by hand, {name}": by_hand(fresh, solver) for name, solver in HAND.items()}
    several = {name: _compiled(run, start) for name, run in programs.items()}
    several |= dict(outside(fresh))
    tolerances = TOLERANCES
    if tiny:
        several, tolerances = dict(list(several.items())[:1]), (1e-4,)
    for solver, runs in several.items():
        for point in sweep(runs, goal, tolerances):
            yield _result(problem, solver, point)


def _compiled(run: Program, start: Sequence[Any]) -> Runs:
    compiled = jax.jit(run)

    def at(tolerance):
        operands = *start, jnp.asarray(tolerance)
        return lambda: compiled(*operands)

    return at


def _stiff() -> Iterator[Result]:
    """The error is that of the coordinates of bodies at the end."""
    methods = ours_on_stiff(STIFF)
    exact = slow(STIFF, EPS, methods[0])
    at = PROBLEMS[STIFF].build(EPS)
    for method in methods:
        name = "GGL(RadauIIA(3))" if method.name == RADAU3 else method.name
        for point in sweep_stiff(method.at(at), exact, TOLERANCES):
            yield _result(f"stiff springs: {STIFF}", ours(name), point)
    for make in rivals(STIFF, EPS):
        solver = make()
        if not solver.name.endswith(FORCES):
            for point in sweep_stiff(solver, exact, TOLERANCES):
                yield _result(f"stiff springs: {STIFF}", solver.name, point)


def _chain() -> Iterator[Result]:
    """The error is that of the angles at the end, in radians."""
    model, problem = planar_chain(LINKS), f"many bodies: a chain of {LINKS} links"
    goal, run = angles(LINKS, t_end=1.0), explicit_run(model, 1.0)
    for tolerance in OF_CHAIN:
        end = run(tolerance)
        if not bool(end.good):
            continue
        spent = call_seconds(run, tolerance, repeats=3)
        error = float(np.max(np.abs(np.asarray(end.y)[:, 2] - goal)))
        yield _one(problem, ours("DOP853"), tolerance, spent, error)
    for tolerance in OF_CHAIN if installed() else ():
        call = ida_run(model, tolerance, 1.0)
        try:
            error = float(np.max(np.abs(call() - goal)))
        except RuntimeError:  # of IDA, where it gives up
            continue
        yield _one(problem, "IDA gglint, sparse", tolerance, least_seconds(call, 3), error)


def _result(problem: str, solver: str, point: Any) -> Result:
    return _one(problem, solver, point.tolerance, point.seconds, point.error)


def _one(problem: str, solver: str, tolerance: float, seconds: float, error: float) -> Result:
    return Result("kinds", problem, solver, f"tolerance {tolerance:.0e}", seconds, error)
