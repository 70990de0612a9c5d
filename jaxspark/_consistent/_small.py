"""Which systems are small."""

from .._kkt import ELEMENTWISE_LIMIT
from .._system import FlatSystem


def is_small(system: FlatSystem) -> bool:
    """Whether everything about one state is small enough for elimination in plain arithmetic."""
    return system.nz + system.nlam + system.npsi <= ELEMENTWISE_LIMIT
