"""The figures of large mechanisms, whose matrices are sparse."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
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

figures, smoke = topic(PARTS)
