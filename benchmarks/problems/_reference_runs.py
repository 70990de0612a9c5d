"""Rollouts that reproduce the reference values, and how many digits they reach.

Methods and step sizes were chosen from `Gauss(3)` to `Gauss(6)`, for `caraxis` and `fekete`
also from Radau IIA, as those of least run time that leave half a digit or more to spare.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import jaxspark

from ._andrews import andrews
from ._caraxis import caraxis
from ._chain_rods import chain_rods
from ._fekete import fekete
from ._heavy_top import heavy_top
from ._kapitza import kapitza
from ._pendulum import pendulum
from ._problem import Problem
from ._sleigh_tow import sleigh_tow


@dataclass(frozen=True)
class Case:
    """How a problem is solved to nine digits.

    - `name`: that of the problem.
    - `problem`: builds it.
    - `method`, `num_steps`: equal steps from `t0 = 0` to the last of the `times`.
    - `times`: those of the reference checkpoints (s).
    - `digits`: to be reached at all of them by `y`, `z` and the multipliers.
    """

    name: str
    problem: Callable[[], Problem]
    method: jaxspark.methods.AbstractSparkMethod
    num_steps: int
    times: tuple[float, ...]
    digits: tuple[float, float, float] = (9.0, 9.0, 9.0)

    def checkpoint_steps(self) -> list[int]:
        """After how many steps the checkpoints are reached."""
        return [round(t * self.num_steps / self.times[-1]) for t in self.times]


class Reached(NamedTuple):
    """Correct digits at one checkpoint."""

    t: float
    y: float
    z: float
    multipliers: float


Gauss = jaxspark.Gauss

CASES = (
    Case("pendulum", pendulum, Gauss(5), 120, (1.0, 2.0, 5.0, 10.0)),
    # At t = 0.03 rounding errors in y, grown a thousandfold, leave z about 10.5 digits.
    Case("andrews", andrews, Gauss(5), 150, (0.01, 0.02, 0.03)),
    Case("caraxis", caraxis, Gauss(6), 150, (1.0, 2.0, 3.0)),
    # Rounding errors allow 10 digits: the top spins at 150 rad/s. With fewer, larger steps
    # the modified Newton iteration, whose Jacobian is that of the step's start, slows down.
    Case("heavy_top", heavy_top, Gauss(4), 480, (0.1, 0.2, 0.5, 1.0)),
    Case("sleigh_tow", sleigh_tow, Gauss(5), 64, (1.0, 3.0, 8.0)),
    Case("kapitza", kapitza, Gauss(5), 600, (1.0, 2.0, 5.0)),
    # At t = 50 the velocities have decayed to 1e-3 and less: nine digits of them, by the
    # count below, are an absolute error of 1.4e-15.
    Case("fekete", fekete, Gauss(6), 300, (1.0, 5.0, 10.0, 20.0, 50.0)),
    Case("chain_rods_N4", chain_rods, Gauss(6), 560, (0.5, 1.0, 2.0)),
)


def digits(value: Any, reference: Any) -> float:
    """The number of correct digits of the worst entry, at most 17; NaN counts as none.

    Entries below 1e-3 of the largest one are measured against that floor.
    """
    value, reference = np.ravel(value), np.ravel(reference)
    if reference.size == 0:
        return 17.0
    floor = max(1e-3 * np.max(np.abs(reference)), np.finfo(float).tiny)
    error = np.max(np.abs(value - reference) / np.maximum(np.abs(reference), floor))
    return float(-np.log10(np.clip(error, 1e-17, None))) if np.isfinite(error) else 0.0


def solve(case: Case) -> jaxspark.Solution:
    """The rollout of a case, with multipliers, saved often enough for its checkpoints."""
    problem = case.problem()
    return jaxspark.rollout(
        problem.system,
        problem.y0,
        problem.z0,
        problem.args,
        method=case.method,
        t0=problem.t0,
        t1=case.times[-1],
        num_steps=case.num_steps,
        save_every=math.gcd(*case.checkpoint_steps()),
        multipliers=True,
    )


def compare(case: Case, solution: jaxspark.Solution) -> list[Reached]:
    """The digits that a solution from `solve` reaches at each checkpoint of the case.

    **Raises:** `ValueError` if the solution or the reference lacks a checkpoint.
    """
    every = math.gcd(*case.checkpoint_steps())
    reference = case.problem().reference()
    checkpoints = {checkpoint["t"]: checkpoint for checkpoint in reference["checkpoints"]}
    lam, psi = solution.multipliers.lam, solution.multipliers.psi
    reached = []
    for t, step in zip(case.times, case.checkpoint_steps(), strict=True):
        row = step // every
        if t not in checkpoints or not np.isclose(solution.ts[row], t, rtol=1e-12, atol=0):
            raise ValueError(f"{case.name} has no checkpoint at t = {t}.")
        exact = checkpoints[t]
        multipliers = np.concatenate([np.ravel(lam[row]), np.ravel(psi[row])])
        reached.append(
            Reached(
                t,
                digits(solution.ys[row], exact["y"]),
                digits(solution.zs[row], exact["z"]),
                digits(multipliers, exact["lambda"] + exact["psi"]),
            )
        )
    return reached
