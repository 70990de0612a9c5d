"""The audit of errors: all mechanisms by all methods, and a short form of it."""

from collections.abc import Iterable, Iterator, Sequence

from .._figures import Figure, note
from ._cells import Outcome, outcomes, TOLERANCES
from ._members import MECHANISMS
from ._methods import METHODS
from ._statistics import by_mechanism, summary
from ._workers import side_by_side


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

    On all cores: nothing is timed.

    The error is the greatest entry of `|x - ref| / (tolerance (1 + |ref|))` at the end; runs that
    are not called successful, and those whose reference is wrong by more than a twentieth of the
    tolerance, are counted and not judged.
    """
    if tiny:
        yield from _short(SHORT[:1], SHORT_METHODS[:1], TINY)
        return
    found = side_by_side(tuple(MECHANISMS), tuple(METHODS), range(STARTS), TOLERANCES)
    yield from _told(found)


def short(tiny: bool) -> Iterator[Figure]:
    """Twelve mechanisms, one start, five methods, three tolerances: for every change."""
    if tiny:
        yield from _short(SHORT[:1], SHORT_METHODS[:1], TINY)
    else:
        yield from _short(SHORT, SHORT_METHODS, SHORT_TOLERANCES)


def _short(
    mechanisms: Sequence[str], methods: Sequence[str], tolerances: Sequence[float]
) -> Iterator[Figure]:
    chosen = [METHODS[method] for method in methods]
    own = (list(outcomes([MECHANISMS[name]], chosen, [0], tolerances)) for name in mechanisms)
    yield from _told(own)


def _told(by_mechanisms: Iterable[list[Outcome]]) -> Iterator[Figure]:
    """Mechanism by mechanism as they are done, then method by method."""
    found: list[Outcome] = []
    count = 0
    for own in by_mechanisms:
        yield by_mechanism(own)
        found += own
        count += 1
    yield note("audit", f"{count} mechanisms, {len(found)} runs")
    yield from summary(found, WORST)
