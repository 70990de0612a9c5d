"""The figures of the core: accuracy, constraints, gradients, Newton, cost."""

import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._constraints import constraints, energy
from ._cost import cost, crossover
from ._export import export
from ._gradients import gradients
from ._main_job import main_job
from ._newton import newton
from ._orders import orders
from ._references import references
from ._suites import bad_input, original_form


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "orders": orders,
    "original_form": original_form,
    "constraints": constraints,
    "energy": energy,
    "references": references,
    "gradients": gradients,
    "newton": newton,
    "cost": cost,
    "crossover": crossover,
    "export": export,
    "bad_input": bad_input,
    "main_job": main_job,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; there are no pictures."""
    del plots
    return chosen(PARTS, only)


def smoke() -> Iterator[Figure]:
    """Every part that is not a test of its own, tiny."""
    for name, part in PARTS.items():
        if name not in ("bad_input", "original_form", "main_job"):
            yield from part(True)
