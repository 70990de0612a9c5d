"""Saddle point systems of many small blocks: solvers linear in their number."""

from ._acyclic import AcyclicNullSpace as AcyclicNullSpace
from ._automatic import automatic as automatic
from ._base import AbstractBlockSolver as AbstractBlockSolver
from ._basis import weakest as weakest
from ._gather import take as take
from ._klu import KLU as KLU
from ._pattern import (
    BlockMatrix as BlockMatrix,
    dense as dense,
    multiply as multiply,
    Pattern as Pattern,
)
from ._range_space import RangeSpace as RangeSpace
from ._saddle import (
    factor_saddle as factor_saddle,
    SaddleFactors as SaddleFactors,
    solve_saddle as solve_saddle,
)
from ._small import (
    both_ends as both_ends,
    inverse as inverse,
    product as product,
    transpose as transpose,
)
from ._structure import (
    BlockValues as BlockValues,
    Positions as Positions,
    Structure as Structure,
)
from ._watched import Watched as Watched
