"""The figures of Lagrange-d'Alembert SPARK methods: families, structure, long times."""

import functools
import pathlib
from collections.abc import Callable, Iterator

from .._figures import Figure
from ._conditioning import conditioning
from ._energy import energy
from ._gradients import gradients
from ._loop import loop
from ._orders import orders
from ._principle import principle
from ._references import references
from ._reversal import reversal


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "orders": orders,
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
    if only is not None and only not in parts:
        raise SystemExit(f"There is no part {only!r}; there are {', '.join(parts)}.")
    for name, part in parts.items():
        if only in (None, name):
            yield from part(False)


def smoke() -> Iterator[Figure]:
    """Every part, tiny."""
    for part in PARTS.values():
        yield from part(True)
