"""All rivals on the four-bar linkage, each as cheap as the accuracy allows."""

import functools
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from ._problem import FitProblem
from ._rival_casadi import by_casadi
from ._rival_diffrax import by_diffrax
from ._rivals import accurate, Cost, cost, Reference, Rival


TOLERANCES = [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11]
STEPS = [1, 2, 4, 8]  # in each sampling interval
STAGES = [1, 2, 3, 4]
Candidate = tuple[Callable[[Any], Rival], list[Any]]


def candidates(problem: FitProblem) -> Iterator[Candidate]:
    """What makes a rival of a setting, and its settings, the cheapest first."""
    for solver in ("Tsit5", "Dopri8"):
        for mode in ("forward", "reverse"):
            yield functools.partial(by_diffrax, problem, solver=solver, mode=mode), TOLERANCES
    casadi = functools.partial(by_casadi, problem)
    for compiled in (False, True) if shutil.which("gcc") else (False,):
        for mode in ("forward", "adjoint"):
            options = {"mode": mode, "compiled": compiled}
            yield functools.partial(casadi, plugin="cvodes", **options), TOLERANCES
            yield functools.partial(casadi, plugin="rk", **options), STEPS
    for form in ("reduced", "index 1"):
        for mode in ("forward", "adjoint"):
            yield functools.partial(casadi, plugin="idas", form=form, mode=mode), TOLERANCES
        yield functools.partial(casadi, plugin="collocation", form=form), STAGES


def costs(problem: FitProblem, truth: Reference, target: float = 1e-6) -> Iterator[Cost]:
    """Of every rival that reaches the accuracy.

    **Arguments:**

    - `problem`: the four-bar linkage.
    - `truth`: where, and what is right there: of [`reference`][].
    - `target`: largest error of a prediction, as a multiple of its channel's deviation.
    """
    for make, settings in candidates(problem):
        rival = accurate(make, settings, truth, target)
        if rival is not None:
            yield cost(rival, truth)
