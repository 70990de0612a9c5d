"""The nonholonomic reference problems, by Lobatto methods."""

from collections.abc import Iterator

import jaxspark

from .._figures import Figure
from ..core._references import correct_digits
from ..problems import (
    Case,
    chaplygin_sleigh,
    isokinetic,
    nonholonomic_particle,
    rolling_disk,
    skate_incline,
    sleigh_tow,
)


Lobatto = jaxspark.Lobatto

CASES = (
    Case("rolling_disk", rolling_disk, Lobatto(5), 80, (1.0, 5.0, 20.0)),
    Case("chaplygin_sleigh", chaplygin_sleigh, Lobatto(5), 160, (1.0, 5.0, 20.0)),
    Case("skate_incline", skate_incline, Lobatto(5), 160, (1.0, 5.0, 20.0)),
    Case("nonholonomic_particle", nonholonomic_particle, Lobatto(6), 800, (1.0, 10.0, 100.0)),
    Case("sleigh_tow", sleigh_tow, Lobatto(6), 64, (1.0, 3.0, 8.0)),
    Case("isokinetic", isokinetic, Lobatto(5), 60, (0.5, 1.0, 2.0)),
)


def references(tiny: bool) -> Iterator[Figure]:
    """Correct digits at the worst checkpoint of each problem."""
    yield from correct_digits(CASES[:1] if tiny else CASES)
