"""Linear solvers for the matrices K2 and K3, behind one interface."""

from ._base import (
    AbstractLinearSolver as AbstractLinearSolver,
    kkt_blocks as kkt_blocks,
    KKTBlocks as KKTBlocks,
    singular_threshold as singular_threshold,
)
from ._block_solver import BlockLinearSolver as BlockLinearSolver, Saddle as Saddle
from ._dense import (
    DenseLU as DenseLU,
    lu_factors as lu_factors,
    solve_augmented as solve_augmented,
)
from ._dense_solve import dense_linear_solve as dense_linear_solve
from ._elementwise import (
    ElementwiseInverse as ElementwiseInverse,
    invert_definite as invert_definite,
)
from ._inverse import DenseInverse as DenseInverse
from ._maps import AbstractMap as AbstractMap, BlockDiagonal as BlockDiagonal
from ._saddle import (
    saddle_by_parts as saddle_by_parts,
    saddle_in_loops as saddle_in_loops,
    solve_definite as solve_definite,
)
from ._saddle_solve import saddle_solve as saddle_solve
from ._select import (
    check_linear_solver as check_linear_solver,
    inverse as inverse,
    LinearSolver as LinearSolver,
    select_linear_solver as select_linear_solver,
)
