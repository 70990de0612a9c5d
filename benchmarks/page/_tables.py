"""Results as tables of a page."""

import math
import re
from collections.abc import Sequence
from html import escape

from jaxspark.fit._report._digits import number
from jaxspark.fit._report._tables import pretty, table

from .._result import is_ours, Result
from ..adaptive._work_precision import Point, seconds_at


# Errors at which the costs of solvers are compared.
ERRORS = (1e-3, 1e-5, 1e-7, 1e-9)
WORDS = {
    "value_seconds": "value, CPU ms",
    "first_call": "first call, s",
    "rate": "per CPU s",
    "memory": "memory, MB",
    "first_half": "first half",
    "second_half": "second half",
}
SCALES = {"value_seconds": 1e3, "memory": 1e-6}
DIGITS = 3


def by(results: Sequence[Result], name: str) -> dict[str, list[Result]]:
    """Results by one of their fields, in the order in which values of it appear."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(getattr(result, name), []).append(result)
    return groups


def all_results(caption: str, results: Sequence[Result]) -> str:
    """Every result of a problem, with all its numbers; columns without any are left out."""
    columns = {
        "CPU ms": [cell(1e3 * r.seconds) for r in results],
        "error": [cell(r.error, 2) for r in results],
        "residual": [cell(r.residual, 2) for r in results],
    }
    for name in dict.fromkeys(name for result in results for name in result.extra):
        values = [SCALES.get(name, 1) * r.extra.get(name, math.nan) for r in results]
        columns[escape(WORDS.get(name, name.replace("_", " ")))] = list(map(cell, values))
    if any("value_seconds" in r.extra for r in results):
        ratios = [r.seconds / r.extra.get("value_seconds", math.nan) for r in results]
        columns["over value"] = [cell(ratio) for ratio in ratios]
    columns = {name: cells for name, cells in columns.items() if set(cells) != {pretty("-")}}
    rows = [
        (solver_cell(r.solver), setting_cell(r.setting), *cells)
        for r, *cells in zip(results, *columns.values(), strict=True)
    ]
    heads = ("solver", "setting", *columns)
    return table(caption, heads, rows, tuple(range(2, len(heads))))


def costs(results: Sequence[Result]) -> dict[str, dict[float, float]]:
    """CPU seconds of each solver of one problem at each error; infinite if not reached."""
    return {
        solver: {error: seconds_at([_point(r) for r in of], error) for error in ERRORS}
        for solver, of in by(results, "solver").items()
    }


def work_precision_table(problem: str, results: Sequence[Result]) -> str:
    """Of one problem: CPU time of each solver at given errors, the least of each in bold."""
    found = costs(results)
    least = {error: min(cost[error] for cost in found.values()) for error in ERRORS}
    heads = (
        "solver", *(f"CPU ms to {power(error)}" for error in ERRORS), "least error", "residual",
    )  # fmt: skip
    rows = []
    for solver, of in by(results, "solver").items():
        of_solver = found[solver]
        cells = [_cost(of_solver[error], of_solver[error] == least[error]) for error in ERRORS]
        best = min(r.error for r in of)
        worst = max((r.residual for r in of if not math.isnan(r.residual)), default=math.nan)
        rows.append((solver_cell(solver), *cells, cell(best, 2), cell(worst, 2)))
    caption = f"{problem}: CPU milliseconds at given errors"
    return table(caption, heads, rows, tuple(range(1, len(heads))))


def solver_cell(name: str) -> str:
    """The name of a solver; ours in the colour of links."""
    return f'<span class="own">{escape(name)}</span>' if is_ours(name) else escape(name)


def cell(value: float, digits: int = DIGITS) -> str:
    """A number, typeset."""
    return pretty(number(float(value), digits))


def power(value: float) -> str:
    """A power of ten, typeset."""
    return f"10<sup>{round(math.log10(value))}</sup>".replace("-", "−")


def setting_cell(text: str) -> str:
    """The setting, a power of ten at its end typeset."""
    words = re.sub(r"\b(\d)e-0?(\d+)$", r"\1 × 10<sup>−\2</sup>", escape(text))
    words = re.sub(r"\b1 × ", "", words)
    return f'<span class="unit">{words}</span>'


def _cost(seconds: float, least: bool) -> str:
    if not math.isfinite(seconds):
        return pretty("-")
    text = cell(1e3 * seconds)
    return f"<b>{text}</b>" if least else text


def _point(result: Result) -> Point:
    return Point(math.nan, result.error, result.seconds, result.residual)
