"""The figures of stiff mechanisms: work, and steps of the slow motion."""

import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure
from ._batch import batch
from ._gradients import gradients
from ._one_step import one_step
from ._references import references
from ._slider_crank import slider_crank
from ._work_precision import work_precision


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "one_step": one_step,
    "references": references,
    "work_precision": work_precision,
    "gradients": gradients,
    "batch": batch,
    "slider_crank": slider_crank,
}


def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """All figures of the topic, or those of one part; there are no pictures."""
    del plots
    return chosen(PARTS, only)


def smoke() -> Iterator[Figure]:
    """Every part, tiny."""
    for part in PARTS.values():
        yield from part(True)
