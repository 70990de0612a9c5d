"""Linear algebra of large mechanisms: cost, accuracy and derivatives of one factorisation."""

from collections.abc import Iterator

from .._figures import Figure
from ._accuracy import accuracy, agreement, first_active, loops, single_precision
from ._derivatives import derivatives
from ._rivals import against_dense, against_klujax
from ._scaling import scaling, structure


SECTIONS = (
    structure, scaling, against_dense, against_klujax, accuracy, agreement, first_active,
    loops, single_precision, derivatives,
)  # fmt: skip


def linear(tiny: bool) -> Iterator[Figure]:
    """Everything that is promised of a factorisation and its solves."""
    # Each section compiles programs of its own: tiny ones would take as long as full ones.
    for section in (structure, scaling, loops) if tiny else SECTIONS:
        yield from section(tiny)
