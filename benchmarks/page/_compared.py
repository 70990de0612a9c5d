"""Ours next to the best others, in a sentence."""

import math
from collections.abc import Callable, Sequence
from html import escape

from .._result import is_ours, Result
from ._tables import cell, costs, power


ERROR = 1e-7
BY_HAND = "reduced by hand"


def sentence(results: Sequence[Result]) -> str:
    """What the fastest of ours and the fastest others need for an error of 1e-7, as HTML.

    **Arguments:**

    - `results`: of one problem.

    **Returns:** a sentence that says who is faster, and how much; of an equation that was
    reduced by hand it speaks apart.
    """
    at = {solver: of[ERROR] for solver, of in costs(results).items()}
    words = f"To an error of {power(ERROR)}"
    own, ours = _fastest(at, is_ours)
    if not math.isfinite(ours):
        return f"{words} none of ours comes."
    text = f"{words} {escape(own)} needs {cell(1e3 * ours)} ms"
    other, theirs = _fastest(at, lambda solver: not is_ours(solver) and BY_HAND not in solver)
    if math.isfinite(theirs):
        text += f"; the fastest other, {_compared(other, theirs, ours)}"
    else:
        text += "; no other solver reaches it"
    other, theirs = _fastest(at, lambda solver: not is_ours(solver) and BY_HAND in solver)
    if math.isfinite(theirs):
        text += f"; {_compared(other, theirs, ours)}"
    return f"{text}."


def _compared(solver: str, theirs: float, ours: float) -> str:
    ratio = cell(theirs / ours, 2)
    words = f"{ratio} times as much" if theirs >= ours else f"{ratio} of that"
    return f"{escape(solver)}, {cell(1e3 * theirs)} ms, {words}"


def _fastest(at: dict[str, float], among: Callable[[str], bool]) -> tuple[str, float]:
    """The solver and its CPU seconds; infinite if there is none."""
    candidates = {solver: cost for solver, cost in at.items() if among(solver)}
    return min(candidates.items(), key=lambda item: item[1], default=("", math.inf))
