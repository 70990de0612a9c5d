"""A result: what one solver needed for one problem, how accurate it was, and which are ours."""

from dataclasses import dataclass, field
from typing import Literal


Section = Literal["work-precision", "batch", "gradient", "scaling", "long-time", "kinds"]
_PREFIX = "jaxspark, "


def ours(solver: str) -> str:
    """The name of a solver of ours among others."""
    return _PREFIX + solver


def is_ours(solver: str) -> bool:
    """Whether a solver of this name is one of ours."""
    return solver.startswith(_PREFIX)


@dataclass(frozen=True)
class Result:
    """One solver on one problem.

    - `section`: of the comparison.
    - `problem`: in words.
    - `solver`: its name.
    - `setting`: tolerance or number of steps, in words.
    - `seconds`: CPU seconds of one trajectory, of the batch, of value and gradient.
    - `error`: of the states at the end, relative; of the gradient; of the energy.
    - `residual`: the worst of a constraint.
    - `extra`: further numbers by name: `value_seconds`, `first_call` (seconds), `rate`
      (trajectories per CPU second), `memory` (bytes).
    """

    section: Section
    problem: str
    solver: str
    setting: str
    seconds: float
    error: float
    residual: float = float("nan")
    extra: dict[str, float] = field(default_factory=dict)
