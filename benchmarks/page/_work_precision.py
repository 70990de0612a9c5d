"""CPU time against the error at the end, of all solvers on all mechanisms."""

from collections.abc import Iterator

import jax

import jaxspark

from .. import peers
from .._result import ours, Result
from ..adaptive._work_precision import Point, sweep
from ..speed._composed import points


TOLERANCES = tuple(10.0**-k for k in range(2, 13))
TINY = (1e-4,)
# Compositions of RATTLE, where each part of a step solves for multipliers alone.
ORDER = 8
STEPS = {"pendulum": (70, 90, 110, 140, 180, 240), "caraxis": (150, 200, 300, 400, 600, 800)}


def work_precision(tiny: bool) -> Iterator[Result]:
    """Five mechanisms, ours and all peers that are installed, from loose to tight.

    A run that fails is left out, and so is a solver that is not installed.
    """
    for kind in peers.MECHANISMS[:1] if tiny else peers.MECHANISMS:
        mechanism = kind()
        if not tiny:
            yield from _composed(mechanism)
        yield from _explicit(mechanism, tiny)
        for stages in () if tiny else (3, 4):
            solver = peers.spark(mechanism, jaxspark.Gauss(stages), ours(f"Gauss({stages})"))
            for point in sweep(solver, mechanism, TOLERANCES):
                yield _result(mechanism, solver.name, peers.tolerance(point.tolerance), point)
        for rival in list(peers.rivals(mechanism))[: 1 if tiny else None]:
            solver = rival.make()
            for point in sweep(solver, mechanism, rival.settings[: 1 if tiny else None]):
                yield _result(mechanism, solver.name, rival.words(point.tolerance), point)
        jax.clear_caches()  # of programs that are not called again


def _composed(mechanism: peers.Mechanism) -> Iterator[Result]:
    for steps in STEPS.get(mechanism.name, ()):
        for point in points(mechanism, ORDER, (steps,)):
            name = ours(f"RATTLE composed to order {ORDER}")
            yield _result(mechanism, name, f"{steps} steps", point)


def _explicit(mechanism: peers.Mechanism, tiny: bool) -> Iterator[Result]:
    """Projected steps."""
    solver = peers.projected(mechanism)
    for point in sweep(solver, mechanism, TINY if tiny else TOLERANCES):
        yield _result(mechanism, ours(solver.name), peers.tolerance(point.tolerance), point)


def _result(mechanism: peers.Mechanism, solver: str, setting: str, point: Point) -> Result:
    return Result(
        "work-precision", mechanism.name, solver, setting, point.seconds, point.error, point.worst
    )
