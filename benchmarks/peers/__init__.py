"""Other solvers of the same equations, to compare with; `pip install ".[peers]"`.

A mechanism is defined once. IDA and solve_dae get residuals and exact Jacobians that CasADi
derives and numba compiles, the best that can be done from Python, CasADi's own integrators
index-1 equations; diffrax gets the underlying ODE, whose accelerations automatic differentiation
finds, and equations reduced by hand. Exudyn and MuJoCo take bodies and joints, no equations.
What is not installed is left out.
"""

from ._andrews import Andrews as Andrews
from ._caraxis import CarAxis as CarAxis
from ._casadi import CasADi as CasADi
from ._exudyn import Exudyn as Exudyn
from ._fit import (
    by_diffrax as by_diffrax,
    Fit as Fit,
    fit_problem as fit_problem,
    Form as Form,
    Mode as Mode,
)
from ._fit_casadi import by_casadi as by_casadi, Plugin as Plugin
from ._fourbar import (
    four_bar as four_bar,
    four_bar_state as four_bar_state,
    FourBar as FourBar,
)
from ._heavytop import HeavyTop as HeavyTop
from ._ida import IDA as IDA
from ._jax_solvers import (
    drifting as drifting,
    KKT_ODE as KKT_ODE,
    projected as projected,
    spark as spark,
)
from ._kkt import kkt_ode as kkt_ode
from ._lanes import drifting_lanes as drifting_lanes, reduced_lanes as reduced_lanes
from ._mechanism import Mechanism as Mechanism
from ._mujoco import (
    four_bar_model as four_bar_model,
    MuJoCo as MuJoCo,
    pendulum_model as pendulum_model,
    Rollouts as Rollouts,
)
from ._pendulum import Pendulum as Pendulum
from ._reduced import BY_HAND as BY_HAND, every_second as every_second
from ._references import (
    end_error as end_error,
    end_residual as end_residual,
    reference as reference,
)
from ._require import available as available, peer as peer
from ._residual import Residual as Residual, residual as residual
from ._rivals import Rival as Rival, rivals as rivals, tolerance as tolerance
from ._run import least_seconds as least_seconds, Run as Run, Solver as Solver
from ._sleigh import Sleigh as Sleigh
from ._solve_dae import SolveDAE as SolveDAE
from ._springs import Elongated as Elongated, Sprung as Sprung
from ._stiff import stiff_mechanisms as stiff_mechanisms
from ._system import constrained_system as constrained_system


MECHANISMS = (Pendulum, Andrews, CarAxis, HeavyTop, Sleigh)
