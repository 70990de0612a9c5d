"""The figures of trust: how well errors are known."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._cost import cost
from ._error import error


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {"error": error, "cost": cost}

figures, smoke = topic(PARTS)
