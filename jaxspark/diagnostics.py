"""What is computed from states and motions: residuals, ranks, conserved quantities, the action."""

from ._consistent import (
    constraint_rank as constraint_rank,
    constraint_residuals as constraint_residuals,
    ConstraintRank as ConstraintRank,
    ConstraintResiduals as ConstraintResiduals,
    Multipliers as Multipliers,
    Projection as Projection,
)
from ._dalembert import (
    discrete_action as discrete_action,
    discrete_euler_lagrange as discrete_euler_lagrange,
    DiscreteAction as DiscreteAction,
    DiscreteEulerLagrange as DiscreteEulerLagrange,
)
from ._diagnostics import (
    check_gradient as check_gradient,
    energy as energy,
    GradientCheck as GradientCheck,
    momentum_map as momentum_map,
    summary as summary,
)
from ._rollout import GlobalError as GlobalError
