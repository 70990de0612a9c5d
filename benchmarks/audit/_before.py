"""The version before, under the names of now: run before `_work`, whose imports need these."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import diffrax

import jaxspark


ROOMS = ("batch", "diagnostics", "linear", "methods", "stiff")


def rename() -> None:
    """Give the package, if it is the version before, what benchmarks take from that of now.

    There all names were at the top, `method` came second, and explicit methods were solvers of
    diffrax, inside `jaxspark.Projected`.
    """
    package: Any = jaxspark
    if hasattr(package, "methods"):
        return
    own = package.solve

    def solve(system, y, z, args=None, *, method, **options):
        if isinstance(method, diffrax.AbstractERK):
            return _projected(package, system, method, (y, z), args, **options)
        return own(system, method, y, z, args, **options)

    package.solve = solve
    package.ExplicitMethod = diffrax.AbstractERK
    package.Tsit5, package.Dopri8 = diffrax.Tsit5, diffrax.Dopri8
    for name in ROOMS:
        room: Any = ModuleType(f"jaxspark.{name}")
        room.__getattr__ = lambda wanted: getattr(package, wanted)
        setattr(package, name, room)
        sys.modules[room.__name__] = room


def _projected(
    package: Any, system: Any, solver: Any, state: Any, args: Any, *, t1: float, rtol: Any,
    atol: Any, max_steps: int, multipliers: bool, throw: bool,
) -> Any:  # fmt: skip
    """What the audit reads of a solution."""
    del multipliers
    solution = diffrax.diffeqsolve(
        package.UnderlyingTerm(system), package.Projected(solver), 0.0, t1, None, state, args,
        stepsize_controller=package.PIController(rtol, atol), max_steps=max_steps, throw=throw,
    )  # fmt: skip
    assert solution.ys is not None
    y1, z1 = (x[-1] for x in solution.ys)
    good = solution.result == diffrax.RESULTS.successful
    short = solution.result == diffrax.RESULTS.max_steps_reached
    failed = package.RESULTS.newton_diverged
    result = package.RESULTS.where(short, package.RESULTS.max_steps_reached, failed)
    return SimpleNamespace(
        y1=y1, z1=z1, multipliers=package.multipliers(system, t1, y1, z1, args), successful=good,
        result=package.RESULTS.where(good, package.RESULTS.successful, result),
        stats=SimpleNamespace(
            num_steps=solution.stats["num_accepted_steps"],
            num_rejected_steps=solution.stats["num_rejected_steps"], num_failed_steps=0,
        ),
    )  # fmt: skip
