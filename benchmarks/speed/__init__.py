"""The figures of speed: trajectories, batches, gradients, long times, first calls; all rivals."""

from collections.abc import Callable, Iterator

from .._figures import Figure, topic
from ._batch import judge_batch, measure_batch
from ._first_call import first_call
from ._four_bars import judge_four_bars, measure_four_bars
from ._gradient import judge_gradient, measure_gradient
from ._long import judge_long, measure_long
from ._parts import Judge, Measure, part
from ._single import judge_single, measure_single


# What measures the results of a part, and what follows from them.
MEASURED: dict[str, tuple[Measure, Judge]] = {
    "single": (measure_single, judge_single),
    "batch": (measure_batch, judge_batch),
    "four_bars": (measure_four_bars, judge_four_bars),
    "gradient": (measure_gradient, judge_gradient),
    "long": (measure_long, judge_long),
}
PARTS: dict[str, Callable[[bool], Iterator[Figure]]] = {
    **{name: part(measure, judge) for name, (measure, judge) in MEASURED.items()},
    "first_call": first_call,
}

figures, smoke = topic(PARTS)
