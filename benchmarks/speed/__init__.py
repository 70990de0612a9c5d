"""The figures of speed: single trajectories, batches, long times, first calls."""

import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._batch import batch
from ._first_call import first_call
from ._long import long
from ._single import single


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "single": single,
    "batch": batch,
    "long": long,
    "first_call": first_call,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; there are no pictures."""
    del plots
    return chosen(PARTS, only)


def smoke() -> Iterator[Figure]:
    """Every part, tiny."""
    for part in PARTS.values():
        yield from part(True)
