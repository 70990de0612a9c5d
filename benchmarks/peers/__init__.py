"""Other solvers of the same equations, to compare with; `pip install ".[peers]"`.

A mechanism is defined once. IDA and solve_dae get residuals and exact Jacobians that CasADi
derives and numba compiles, the best that can be done from Python; diffrax gets the underlying
ODE, whose accelerations automatic differentiation finds.
"""

from ._andrews import Andrews as Andrews
from ._caraxis import CarAxis as CarAxis
from ._heavytop import HeavyTop as HeavyTop
from ._ida import IDA as IDA
from ._jax_solvers import drifting as drifting, Projected as Projected, spark as spark
from ._kkt import kkt_ode as kkt_ode
from ._mechanism import Mechanism as Mechanism
from ._pendulum import Pendulum as Pendulum
from ._references import end_error as end_error, reference as reference
from ._residual import Residual as Residual, residual as residual
from ._run import least_seconds as least_seconds, Run as Run, Solver as Solver
from ._sleigh import Sleigh as Sleigh
from ._solve_dae import SolveDAE as SolveDAE
from ._springs import Elongated as Elongated, Sprung as Sprung
from ._stiff import stiff_mechanisms as stiff_mechanisms
from ._system import constrained_system as constrained_system


MECHANISMS = (Pendulum, Andrews, CarAxis, HeavyTop, Sleigh)
