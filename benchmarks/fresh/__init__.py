"""The figures of fresh mechanisms, none of which anything was tuned on."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._first_call import first_call
from ._lowest import lowest
from ._motion import motion
from ._package import package


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "motion": motion,
    "first_call": first_call,
    "package": package,
    "lowest": lowest,
}

figures, smoke = topic(PARTS)
