"""The audit of errors: all mechanisms by all methods, and a short form of it."""

from collections.abc import Iterator

from .._figures import Figure, note
from ._cells import outcomes
from ._members import MECHANISMS
from ._methods import METHODS
from ._statistics import summary


STARTS = 3
SHORT = (
    "pendulum", "turntable", "snakeboard", "spatial_slider_crank", "appell_hamel", "rattleback",
    "kepler", "end_stop", "square_wave", "weak_kink", "wide_bump_from_rest", "mixed",
)  # fmt: skip
SHORT_METHODS = ("Gauss(3)", "Gauss(4)", "RadauIIA(3)", "Lobatto(4)", "Projected(DOP853)")
SHORT_TOLERANCES = (1e-4, 1e-7, 1e-10)
WORST = 10


def whole(tiny: bool) -> Iterator[Figure]:
    """Every mechanism, three starts, every method, five tolerances from 1e-4 to 1e-11.

    The error is the greatest entry of `|x - ref| / (tolerance (1 + |ref|))` at the end; runs that
    are not called successful, and those whose reference is wrong by more than a twentieth of the
    tolerance, are counted and not judged.
    """
    mechanisms = list(MECHANISMS.values())[: 1 if tiny else None]
    methods = list(METHODS.values())[: 1 if tiny else None]
    if tiny:
        found = list(outcomes(mechanisms, methods, range(1), (1e-4, 1e-5)))
    else:
        found = list(outcomes(mechanisms, methods, range(STARTS)))
    yield note("audit", f"{len(mechanisms)} mechanisms, {len(found)} runs")
    yield from summary(found, WORST)


def short(tiny: bool) -> Iterator[Figure]:
    """Twelve mechanisms, one start, five methods, three tolerances: for every change."""
    names = SHORT[:1] if tiny else SHORT
    methods = [METHODS[name] for name in (SHORT_METHODS[:1] if tiny else SHORT_METHODS)]
    tolerances = (1e-4, 1e-5) if tiny else SHORT_TOLERANCES
    found = list(outcomes([MECHANISMS[name] for name in names], methods, range(1), tolerances))
    yield note("short audit", f"{len(names)} mechanisms, {len(found)} runs")
    yield from summary(found, WORST)
