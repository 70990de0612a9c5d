"""A method chosen by the first steps, and the reason in words."""

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import numpy as np

from .._explicit import DOP853
from .._results import RESULTS
from .._rollout import Solution
from .._stiff import GGL
from .._tableau import Gauss, RadauIIA
from ._default import Choice


# Steps after which more is known about a motion.
TRIED = 64
# Fewer steps of DOP853 are made sooner than another method is compiled.
BEARABLE = 2000
# A step of GGL costs about as much as so many of DOP853.
DEARER = 20
STIFF = GGL(RadauIIA(3))

# `method` to the solution of at most `TRIED` steps from the start, with a row for each.
Try = Callable[[Any], Solution]


def choose(span: float, max_steps: int | None, stiff: bool, attempt: Try) -> Choice:
    """The method, by how far its first steps come.

    `DOP853` where it is done soon. Else `GGL` shows whether its size of steps is one that accuracy
    asks for: it resolves what moves by more than the tolerances, however fast, and nothing else.

    **Arguments:**

    - `span`: of the interval.
    - `max_steps`: the largest number of steps that are to be made.
    - `stiff`: whether `GGL` is possible: it needs an absolute tolerance.

    Source: this project's; that stiffness is where an implicit method takes far longer steps at
    the same tolerances is the definition of E. Hairer & G. Wanner, *Solving Ordinary Differential
    Equations II*, IV.1.
    """
    explicit = attempt(DOP853())
    if bool(explicit.result == RESULTS.singular):
        return Choice(Gauss(3), "accelerations are not determined: massless coordinates, perhaps")
    if bool(explicit.successful):
        return Choice(DOP853(), f"{int(explicit.stats.num_steps)} steps reach the end")
    size = typical_size(explicit)
    if not size > 0:
        return Choice(Gauss(3), "explicit steps fail at the start")
    expected = round(span / size)
    if expected <= BEARABLE:
        return Choice(DOP853(), f"about {expected} steps")
    longer = typical_size(attempt(STIFF)) / size if stiff else 0.0
    if longer >= DEARER:
        words = f"its steps are {longer:.2g} times as long as explicit ones, which stability limits"
        return Choice(STIFF, f"{words}; what is as fast is damped, not resolved")
    words = f"about {expected} steps, which accuracy asks for"
    if max_steps is not None and expected > max_steps:
        words += f": max_steps = {max_steps} may be too few"
    return Choice(DOP853(), words)


def typical_size(solution: Solution) -> float:
    """The mean size of the last half of the steps; 0 if there were none."""
    steps = int(solution.stats.num_steps)
    ts = np.asarray(solution.ts)[: steps + 1]
    half = steps // 2
    return abs(float(ts[-1] - ts[half])) / (steps - half) if steps else 0.0


def check_known(*values: Any) -> None:
    """Raise if a value is traced: a method is chosen before anything is compiled.

    **Raises:** `ValueError`.
    """
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(values)):
        raise ValueError(
            'method="auto" looks at the motion before anything is compiled: call solve outside of '
            "jax.jit, jax.grad and jax.vmap once, and use the method that solution.method tells."
        )
