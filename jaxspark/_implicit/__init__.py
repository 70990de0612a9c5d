"""Implicit differentiation: derivatives at the solution, never through the iteration.

And that iteration: one loop for all of Newton's, and a branch that costs nothing where it is not
taken.
"""

from ._dense_root import newton_root as newton_root
from ._failed import nan_derivatives as nan_derivatives
from ._iterate import iterate as iterate, Iteration as Iteration, newton_result as newton_result
from ._lazily import lazily as lazily
from ._linear import linear_solve as linear_solve
from ._noise import ALLOWED as ALLOWED, is_noise as is_noise, signs as signs
from ._refine import preconditioned_solve as preconditioned_solve
from ._root import (
    CHECKPOINT_NAME as CHECKPOINT_NAME,
    differentiable_root as differentiable_root,
)
from ._stop import stop_gradient as stop_gradient
