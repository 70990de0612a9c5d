"""The figures of Lagrange-d'Alembert SPARK methods: families, structure, long times."""

import functools
import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._conditioning import conditioning
from ._energy import energy
from ._gradients import gradients
from ._loop import loop
from ._orders import combinations, orders
from ._principle import principle
from ._references import references
from ._reversal import reversal


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "orders": orders,
    "combinations": combinations,
    "reversal": reversal,
    "loop": loop,
    "references": references,
    "energy": energy,
    "conditioning": conditioning,
    "principle": principle,
    "gradients": gradients,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; pictures into the folder `plots`."""
    parts = {**PARTS, "energy": functools.partial(energy, plots=plots)}
    return chosen(parts, only)


def smoke() -> Iterator[Figure]:
    """Every part, tiny."""
    for part in PARTS.values():
        yield from part(True)
