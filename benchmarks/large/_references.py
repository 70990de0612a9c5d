"""Reference values of chains, and linkages next to their one degree of freedom."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..problems import chain_rods, digits
from ._chains import horizontal_chain
from ._integrate import greatest, integrate
from ._linkages import four_bars, Linkage, potential, three_cranks


# Five stages, and so many steps that rounding is left, or a tolerance; the digits that are agreed
# between two other codes, and for the short chains, where these are 16, that rounding leaves.
STEPS = {4: 1000, 10: 1000, 20: 2000, 40: 4000}
TIGHT = 1e-13
DIGITS = {4: 11.5, 10: 10.5, 20: 10.7, 40: 10.3}
LINKAGES = (2, 5, 10, 20, 40)
MOTION, KEPT = 1e-8, 1e-11


def references(tiny: bool) -> Iterator[Figure]:
    """Chains from the horizontal, and linkages with loops."""
    for n in (4,) if tiny else STEPS:
        yield from _chain(n, 20 if tiny else STEPS[n], 0.0 if tiny else DIGITS[n])
    solver = jaxspark.linear.AcyclicNullSpace(redundant=True)
    yield from _linkage(three_cranks(), 4 if tiny else 200, 0.02 if tiny else 1.0, solver)
    for n in (2,) if tiny else LINKAGES:
        yield from _linkage(four_bars(n), 4 if tiny else 200, 0.02 if tiny else 1.0)


def _chain(n: int, steps: int, target: float) -> Iterator[Figure]:
    """Digits of coordinates and velocities at the end."""
    model, problem = horizontal_chain(n), chain_rods(n)
    assert problem.reference is not None
    exact = problem.reference()
    solution = jaxspark.rollout(
        model.system, model.y0, model.z0, model.args, method=jaxspark.Gauss(5), t1=problem.t_end,
        num_steps=steps, save_every=None, throw=False,
    )  # fmt: skip
    good = bool(solution.result == jaxspark.RESULTS.successful)
    yield Figure(f"{problem.name}, {steps} steps of Gauss(5): succeed", "True", str(good), good)
    ends = {f"Gauss(5), {steps} steps": (solution.y1, solution.z1)}
    if target:
        end = integrate(model, TIGHT, problem.t_end)
        yield Figure(f"{problem.name}, explicitly: succeed", "True", str(end.good), bool(end.good))
        ends[f"DOP853(), tolerance {TIGHT:g}"] = end.y, end.z
    for how, values in ends.items():
        for key, value in zip("yz", values, strict=True):
            agreed = exact["agreed_digits"][key]
            reached = digits(value, exact[f"{key}_end"])
            what = (
                f"{problem.name} as bodies and joints, {how}: digits of {key}, of {agreed} agreed"
            )
            yield at_least(what, reached, target, ".1f")


def _linkage(linkage: Linkage, steps: int, t_end: float, solver: Any = None) -> Iterator[Figure]:
    """Motion, constraints and energy by three stages."""
    model = linkage.model
    words = jaxspark.linear.explain(
        model.system, model.y0, model.z0, model.args, linear_solver=solver
    )  # fmt: skip
    yield note(f"{model.name}: what is done", " ".join(words.split()).replace("|", "/"))
    solution = jaxspark.rollout(
        model.system, model.y0, model.z0, model.args, method=jaxspark.Gauss(3), t1=t_end,
        num_steps=steps, linear_solver=solver, throw=False,
    )  # fmt: skip
    what = f"{model.name}, {steps} steps of Gauss(3) in {t_end:g} s"
    good = bool(solution.result == jaxspark.RESULTS.successful)
    yield Figure(f"{what}: succeed", "True", str(good), good)
    y, z = linkage.motion(t_end)
    apart = max(_apart(solution.y1, y), _apart(solution.z1, z))
    yield at_most(f"{what}: from the motion of its one angle", apart, MOTION)
    at = solution.ts, solution.ys, solution.zs
    found = jaxspark.diagnostics.constraint_residuals(model.system, *at, model.args)
    yield at_most(f"{what}: greatest residual of g", greatest(found.g), 1e-12)
    yield at_most(f"{what}: greatest residual of g'", greatest(found.gdot), 1e-12)
    energy = np.asarray(
        jaxspark.diagnostics.energy(model.system, *at, model.args, potential=potential)
    )
    scale = np.max(np.abs(energy))
    drift = float(np.max(np.abs(energy - energy[0])) / scale)
    yield at_most(f"{what}: change of the energy, relative", drift, KEPT)


def _apart(a: Any, b: np.ndarray) -> float:
    apart = float(np.max(np.abs(np.asarray(a) - b)))
    return apart if np.isfinite(apart) else math.inf
