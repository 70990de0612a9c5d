"""The same motions with the lowest versions that are supported."""

from collections.abc import Iterator

from .._figures import at_least, Figure, note
from ..versions._compared import figures_of, lines_of, number_in
from ..versions._on import LOWEST, words


# Geometric means and worst of what is done by hand over the default.
TARGETS = {"value": (2.0, 1.2), "value and gradient": (3.0, 1.5)}


def lowest(tiny: bool) -> Iterator[Figure]:
    """Ratios of what is done by hand to the default of `solve`, against targets of their own."""
    if tiny:
        return
    found = lines_of(figures_of(LOWEST, "fresh", "motion"))
    for name, value in found.items():
        what, _, which = name.partition(", by hand over the default: ")
        if not which:
            continue
        label = f"{words(LOWEST)}: {name}"
        if what in TARGETS:
            mean, worst = TARGETS[what]
            target = mean if which == "geometric mean" else worst
            yield at_least(label, number_in(value), target)
        else:
            yield note(label, value)
    if not any("geometric mean" in name for name in found):
        yield Figure(f"{words(LOWEST)}: motions", "measured", "not measured", False)
