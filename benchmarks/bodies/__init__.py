"""The figures of rigid bodies: real models from files, against MuJoCo.

Models are those of packages that are installed or unpacked, `pip install --no-deps dm-control
example-robot-data frax gymnasium playground` or folders named by `JAXSPARK_MODELS`.
"""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._batch import batch
from ._gradients import gradients
from ._identify import identify
from ._iftomm import iftomm
from ._lines import lines
from ._loops import loops
from ._models import models
from ._random import random
from ._rolling import rolling
from ._speed import speed
from ._trees import trees


PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "models": models,
    "trees": trees,
    "loops": loops,
    "iftomm": iftomm,
    "rolling": rolling,
    "random": random,
    "gradients": gradients,
    "lines": lines,
    "speed": speed,
    "batch": batch,
    "identify": identify,
}

figures, smoke = topic(PARTS)
