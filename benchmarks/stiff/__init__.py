"""The figures of stiff mechanisms: published tables, steps of the slow motion, work."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._batch import batch
from ._gradients import gradients
from ._one_step import one_step
from ._rates import rates
from ._references import references
from ._slider_crank import slider_crank
from ._tables import tables
from ._work_precision import work_precision


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "tables": tables,
    "one_step": one_step,
    "rates": rates,
    "references": references,
    "work_precision": work_precision,
    "gradients": gradients,
    "batch": batch,
    "slider_crank": slider_crank,
}

figures, smoke = topic(PARTS)
