"""The discrete Lagrange-d'Alembert principle, evaluated."""

from ._action import discrete_action as discrete_action, DiscreteAction as DiscreteAction
from ._principle import (
    discrete_euler_lagrange as discrete_euler_lagrange,
    DiscreteEulerLagrange as DiscreteEulerLagrange,
)
