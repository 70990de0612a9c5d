"""The audit of errors: all mechanisms by all methods, and a short form of it."""

from collections.abc import Iterator, Sequence

from .._figures import Figure, note
from ._cells import Outcome, outcomes, TOLERANCES
from ._mechanism import Mechanism
from ._members import MECHANISMS
from ._methods import Method, METHODS
from ._statistics import by_mechanism, summary


STARTS = 3
SHORT = (
    "pendulum", "turntable", "snakeboard", "spatial_slider_crank", "appell_hamel", "rattleback",
    "kepler", "end_stop", "square_wave", "weak_kink", "wide_bump_from_rest", "mixed",
)  # fmt: skip
SHORT_METHODS = ("Gauss(3)", "Gauss(4)", "RadauIIA(3)", "Lobatto(4)", "DOP853")
SHORT_TOLERANCES = (1e-4, 1e-7, 1e-10)
TINY = (1e-4, 1e-5)
WORST = 10


def whole(tiny: bool) -> Iterator[Figure]:
    """Every mechanism, three starts, every method, five tolerances from 1e-4 to 1e-11.

    The error is the greatest entry of `|x - ref| / (tolerance (1 + |ref|))` at the end; runs that
    are not called successful, and those whose reference is wrong by more than a twentieth of the
    tolerance, are counted and not judged.
    """
    mechanisms = list(MECHANISMS.values())[: 1 if tiny else None]
    methods = list(METHODS.values())[: 1 if tiny else None]
    yield from _audit(mechanisms, methods, 1 if tiny else STARTS, TINY if tiny else TOLERANCES)


def short(tiny: bool) -> Iterator[Figure]:
    """Twelve mechanisms, one start, five methods, three tolerances: for every change."""
    mechanisms = [MECHANISMS[name] for name in (SHORT[:1] if tiny else SHORT)]
    methods = [METHODS[name] for name in (SHORT_METHODS[:1] if tiny else SHORT_METHODS)]
    yield from _audit(mechanisms, methods, 1, TINY if tiny else SHORT_TOLERANCES)


def _audit(
    mechanisms: Sequence[Mechanism],
    methods: Sequence[Method],
    starts: int,
    tolerances: Sequence[float],
) -> Iterator[Figure]:
    """Mechanism by mechanism as they are done, then method by method."""
    found: list[Outcome] = []
    for mechanism in mechanisms:
        own = list(outcomes([mechanism], methods, range(starts), tolerances))
        yield by_mechanism(own)
        found += own
    yield note("audit", f"{len(mechanisms)} mechanisms, {len(found)} runs")
    yield from summary(found, WORST)
