"""The figures of parameter identification, and its problems."""

import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._cost import cost
from ._double_pendulum import double_pendulum as double_pendulum
from ._fork import fork as fork
from ._fork_figures import fork_figures
from ._fourbar import four_bar as four_bar
from ._hinge import hinge_friction as hinge_friction
from ._problem import FitProblem as FitProblem, Trial as Trial
from ._recovery import chaos, coverage, driven, network
from ._robustness import data, resume
from ._vehicle import vehicle as vehicle


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "fork": fork_figures,
    "coverage": coverage,
    "chaos": chaos,
    "vehicle": driven,
    "network": network,
    "cost": cost,
    "resume": resume,
    "data": data,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; there are no pictures."""
    del plots
    return chosen(PARTS, only)


def smoke() -> Iterator[Figure]:
    """Every part that takes seconds, tiny."""
    for name in ("fork", "data"):
        yield from PARTS[name](True)
