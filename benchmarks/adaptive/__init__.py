"""The figures of adaptive solutions: work, errors, transformations, robustness, long times."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._proportionality import proportionality
from ._reversible import reversible
from ._robustness import robustness
from ._transforms import transforms
from ._work_precision import work_precision


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "work_precision": work_precision,
    "proportionality": proportionality,
    "transforms": transforms,
    "robustness": robustness,
    "reversible": reversible,
}

figures, smoke = topic(PARTS)
