"""For stiff mechanisms: methods, springs as coordinates, damped starts."""

from ._bdf import (
    bdf as bdf,
    BDFSolution as BDFSolution,
    BDFStatistics as BDFStatistics,
)
from ._stiff import damp_start as damp_start, DampedStart as DampedStart, GGL as GGL
from ._system import elongate as elongate, Elongated as Elongated
