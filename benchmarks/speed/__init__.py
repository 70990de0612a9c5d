"""The figures of speed: single trajectories, batches, long times, first calls."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
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

figures, smoke = topic(PARTS)
