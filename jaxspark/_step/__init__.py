"""One step: the stage equations, their modified Newton iteration, its starting values."""

from ._attempts import solve_stages as solve_stages
from ._decoupling import (
    modified_jacobian as modified_jacobian,
    ModifiedJacobian as ModifiedJacobian,
)
from ._newton import check_newton as check_newton, NewtonOptions as NewtonOptions
from ._predict import (
    constant_guess as constant_guess,
    continued_guess as continued_guess,
    extrapolated_guess as extrapolated_guess,
)
from ._rattle import rattle_steps as rattle_steps
from ._residual import stage_residual as stage_residual
from ._stages import Stages as Stages
from ._step import (
    differentiable_stages as differentiable_stages,
    differentiated_if as differentiated_if,
    flat_step as flat_step,
    StepInfo as StepInfo,
)
from ._structure import solves_for_multipliers as solves_for_multipliers
