"""Linear solvers, for small systems and for many bodies; which one is taken, and why."""

from ._blocks import (
    AbstractBlockSolver as AbstractBlockSolver,
    AcyclicNullSpace as AcyclicNullSpace,
    BlockMatrix as BlockMatrix,
    KLU as KLU,
    Pattern as Pattern,
    RangeSpace as RangeSpace,
)
from ._kkt import (
    AbstractLinearSolver as AbstractLinearSolver,
    DenseInverse as DenseInverse,
    DenseLU as DenseLU,
    ElementwiseInverse as ElementwiseInverse,
    KKTBlocks as KKTBlocks,
)
from ._rollout import explain as explain
from ._system import redundant as redundant, with_blocks as with_blocks
