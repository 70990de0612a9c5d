"""The reference values of highly oscillatory problems, by every sound formulation."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

import jaxspark
from jaxspark import GGL, RadauIIA

from .._figures import at_least, Figure
from ..problems import (
    digits,
    Problem,
    stiff_spring_double_pendulum,
    stiff_spring_double_pendulum_elongated,
    yen_petzold_bushing,
    yen_petzold_bushing_elongated,
    yen_petzold_linear,
    yen_petzold_spring,
    yen_petzold_spring_elongated,
)


DIGITS = 7
# "cm_frozen" is not among them: it converges to something else.
FORMULATIONS = ("ggl", "ggl_star", "cs", "cm_step", "cm_true")


def problems() -> list[Problem]:
    """All that have reference values, with forces as they are printed."""
    linear = [("A", 1e-2), ("B", 1e-2), ("B", 1e-4), *[("C", x) for x in (1e-2, 1e-4, 1e-5, 1e-6)]]
    return [
        *[yen_petzold_linear(variant, eps) for variant, eps in linear],
        *[yen_petzold_spring(eps) for eps in (1e-2, 1e-3, 1e-4, 1e-5)],
        *[yen_petzold_bushing(eps) for eps in (1e-3, 1e-5, 1e-6)],
        *[stiff_spring_double_pendulum(k) for k in (1e4, 1e6)],
    ]


def with_elongations() -> list[Problem]:
    """Those with springs, whose elongations are coordinates."""
    return [
        *[yen_petzold_spring_elongated(eps) for eps in (1e-2, 1e-3, 1e-4, 1e-5)],
        *[yen_petzold_bushing_elongated(eps) for eps in (1e-3, 1e-5, 1e-6)],
        *[stiff_spring_double_pendulum_elongated(k) for k in (1e4, 1e6)],
    ]


def references(tiny: bool) -> Iterator[Figure]:
    """Digits at the end. Of multipliers, rounding of the coordinates leaves fewer."""
    for problem in problems()[7:8] if tiny else problems():
        yield from by_ggl(problem, problem.name)
        for formulation in FORMULATIONS[2:3] if tiny else FORMULATIONS:
            yield from by_bdf(problem, formulation, 1e-10 if tiny else 3e-14)
    if tiny:
        return
    for problem in with_elongations():
        yield from by_ggl(problem, f"{problem.name}, elongations as coordinates")


def by_ggl(problem: Problem, name: str) -> Iterator[Figure]:
    """The recommended form, with five stages: of the order that tight tolerances ask for."""
    solution = jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=GGL(RadauIIA(5)),
        t1=problem.t_end,
        rtol=1e-12, max_steps=None, throw=False,
    )  # fmt: skip
    yield from _lines(problem, solution, f"{name}, GGL Radau IIA(5)")


def by_bdf(problem: Problem, formulation: Any, tolerance: float) -> Iterator[Figure]:
    """BDF of orders up to 5."""
    solution = jaxspark.stiff.bdf(
        problem.system, jnp.asarray(problem.y0), jnp.asarray(problem.z0), problem.args,
        t1=problem.t_end, rtol=tolerance, formulation=formulation, max_order=5,
        error_norm="positions and velocities", max_steps=800_000, throw=False,
    )  # fmt: skip
    yield from _lines(problem, solution, f"{problem.name}, BDF {formulation}")


def _lines(problem: Problem, solution: Any, what: str) -> Iterator[Figure]:
    assert problem.reference is not None
    exact = problem.reference()
    found = {"y": solution.y1, "z": solution.z1}
    steps = int(solution.stats.num_steps)
    for key, value in found.items():
        bodies = value[0] if isinstance(value, tuple) else value
        reached = digits(bodies, exact[f"{key}_end"])
        yield at_least(f"{what}, {steps} steps: digits of {key}", reached, DIGITS, ".1f")
