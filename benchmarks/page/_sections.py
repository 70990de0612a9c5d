"""The sections of the page: what each measures, and how it is shown."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from .._result import Result
from ..speed import MEASURED
from . import _plots
from ._kinds import kinds
from ._scaling import scaling
from ._work_precision import work_precision


@dataclass(frozen=True)
class Section:
    """A section of the page.

    - `title`: its headline; `words`: what is measured.
    - `collect`: measures, and yields results as soon as there are any; tiny ones if told so.
    - `plot`: a picture of the results.
    """

    title: str
    words: str
    collect: Callable[[bool], Iterator[Result]]
    plot: Callable[[Sequence[Result]], Figure]


def _joined(*names: str) -> Callable[[bool], Iterator[Result]]:
    """The measurements of parts of the topic `speed`, one after the other."""
    return lambda tiny: itertools.chain.from_iterable(MEASURED[name][0](tiny) for name in names)


SECTIONS = {
    "work-precision": Section(
        "Work and precision",
        "One trajectory of each of five mechanisms, for tolerances or numbers of steps from loose "
        "to tight. The error is the greatest |x − x*| / (1 + |x*|) over positions and velocities "
        "at the end, x* known to 1e-11 or better. Residuals are the greatest after any step where "
        "the solver reports them, which ours do, and those at the end for all others.",
        work_precision,
        functools.partial(
            _plots.curves, x=lambda r: r.error, y=lambda r: 1e3 * r.seconds,
            xlabel="error at the end", ylabel="CPU time in ms",
        ),
    ),
    "kinds": Section(
        "Kinds of problems",
        "One trajectory of a mechanism of each kind, for tolerances from loose to tight. The error "
        "is the greatest |x − x*| / (1 + |x*|) over the state at the end; of the stiff mechanism, "
        "over coordinates of bodies; of the chain, the greatest of an angle in radians.",
        kinds,
        functools.partial(
            _plots.curves, x=lambda r: r.error, y=lambda r: 1e3 * r.seconds,
            xlabel="error at the end", ylabel="CPU time in ms",
        ),
    ),
    "batch": Section(
        "Batches",
        "Many trajectories of different parameters and starts, on one core. The error is the "
        "median of those of the trajectories at the end.",
        _joined("batch", "four_bars"),
        functools.partial(
            _plots.curves, x=lambda r: r.error, y=lambda r: r.extra.get("rate", math.nan),
            xlabel="median error at the end", ylabel="trajectories in a CPU second",
        ),
    ),
    "gradient": Section(
        "Gradients",
        "A value and its gradient by all parameters. The error is that of the gradient, relative.",
        _joined("gradient"),
        _plots.bars,
    ),
    "scaling": Section(
        "Scaling",
        "Chains of rods, from straight and at rest, 45 degrees below the horizontal, as bodies "
        "and joints. CPU time of a simulated second, each solver at the loosest tolerance at "
        "which all angles at the end are right to 1e-4.",
        scaling,
        functools.partial(
            _plots.curves, x=lambda r: r.extra.get("bodies", math.nan), y=lambda r: r.seconds,
            xlabel="bodies", ylabel="CPU s of a simulated second", reverse=False,
        ),
    ),
    "long-time": Section(
        "Long times",
        "A pendulum over about 500 periods. The error is the greatest of the energy, as a multiple "
        "of m g L: ours after every step, that of others at every second.",
        _joined("long"),
        functools.partial(
            _plots.curves, x=lambda r: r.error, y=lambda r: r.seconds,
            xlabel="greatest error of the energy", ylabel="CPU time in s",
        ),
    ),
}  # fmt: skip


def chosen(names: Sequence[str]) -> dict[str, Section]:
    """The sections of these names, in the order of the page; all if there are no names.

    **Raises:** `SystemExit` if there is no section of one of the names.
    """
    for name in names:
        if name not in SECTIONS:
            raise SystemExit(f"There is no section {name!r}; there are {', '.join(SECTIONS)}.")
    return {name: of for name, of in SECTIONS.items() if not names or name in names}
