"""The figures of large mechanisms, whose matrices are sparse."""

import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._batch import batch
from ._gradient import gradient
from ._linear import linear
from ._references import references
from ._simulation import simulation


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "linear": linear,
    "simulation": simulation,
    "gradient": gradient,
    "references": references,
    "batch": batch,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; there are no pictures."""
    del plots
    return chosen(PARTS, only)


def smoke() -> Iterator[Figure]:
    """Every part, tiny."""
    for part in PARTS.values():
        yield from part(True)
