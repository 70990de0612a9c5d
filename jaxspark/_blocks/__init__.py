"""Saddle point systems of many small blocks: solvers linear in their number."""

from ._acyclic import AcyclicNullSpace as AcyclicNullSpace
from ._base import AbstractBlockSolver as AbstractBlockSolver
from ._pattern import (
    BlockMatrix as BlockMatrix,
    dense as dense,
    multiply as multiply,
    Pattern as Pattern,
)
