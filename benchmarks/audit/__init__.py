"""The audit of error control: errors against tolerances, for mechanisms that differ in kind."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._against import against
from ._gripper import gripper
from ._perfect import perfect
from ._whole import short, whole


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "short": short,
    "whole": whole,
    "perfect": perfect,
    "against": against,
    "gripper": gripper,
}

figures, smoke = topic(PARTS)
