"""The figures of the site: how it is built, what is on it, how its pages look."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._build import build
from ._code import code
from ._pages import pages


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "build": build,
    "pages": pages,
    "code": code,
}

figures, smoke = topic(PARTS)
