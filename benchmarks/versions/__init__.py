"""The figures of versions: the oldest and the newest of everything, and JAX's public API alone."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._accesses import accesses
from ._commands import commands
from ._compared import core, fit, speed
from ._plain import plain
from ._warned import warned


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "accesses": accesses,
    "commands": commands,
    "plain": plain,
    "warnings": warned,
    "core": core,
    "speed": speed,
    "fit": fit,
}

figures, smoke = topic(PARTS)
