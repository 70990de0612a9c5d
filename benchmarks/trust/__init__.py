"""The figures of trust: how well errors are known."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._cost import cost
from ._error import error
from ._fuzz import fuzz
from ._gradient import gradient
from ._inputs import inputs
from ._killed import killed
from ._long import long
from ._redundant import redundancy
from ._singular import singular


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "error": error,
    "cost": cost,
    "gradient": gradient,
    "inputs": inputs,
    "redundant": redundancy,
    "singular": singular,
    "fuzz": fuzz,
    "killed": killed,
    "long": long,
}

figures, smoke = topic(PARTS)
