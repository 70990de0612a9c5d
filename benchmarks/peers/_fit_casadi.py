"""The gradient of the fit of a four-bar linkage by CasADi's integrators and their adjoints."""

from typing import Any, Literal

import numpy as np

from . import _fourbar
from ._casadi import collocation, index_1
from ._fit import Fit, Function
from ._require import peer
from ._symbols import Symbols


Plugin = Literal["collocation", "idas", "cvodes"]


def by_casadi(fit: Fit, plugin: Plugin, setting: float) -> tuple[Function, Function]:
    """Functions of the parameters: the value; the value and its gradient by adjoints.

    **Arguments:**

    - `plugin`: cvodes takes the equation reduced by hand, the others index-1 equations.
    - `setting`: the tolerance, or the number of elements of collocation at four Gauss points.
    """
    casadi = peer("casadi")
    if plugin == "collocation":
        options = collocation(4, int(setting))
    else:
        options = {"abstol": setting, "reltol": setting, "max_num_steps": 10**6}
    given = _reduced(casadi) if plugin == "cvodes" else _index_1(casadi, fit)
    if plugin == "idas":
        options["calc_icB"] = False
    dae, start = given
    p = casadi.MX.sym("p", 6)
    run = casadi.integrator("run", plugin, dae, 0.0, fit.times.tolist(), options)
    loss = casadi.sumsqr(run(**start, p=p)["xf"][0, :].T - fit.angles) / fit.angles.size
    value = casadi.Function("value", [p], [loss])
    both = casadi.Function("both", [p], [loss, casadi.gradient(loss, p)])

    def value_and_gradient(point):
        found, gradient = both(point)
        return float(found), np.array(gradient)[:, 0]

    return lambda point: float(value(point)), value_and_gradient


def _reduced(casadi: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    x, p = casadi.SX.sym("x", 2), casadi.SX.sym("p", 6)
    field = _fourbar.reduced(casadi, casadi.vertsplit(x), casadi.vertsplit(p))
    return {"x": x, "p": p, "ode": casadi.vertcat(*field)}, {"x0": [_fourbar.ANGLE, 0.0]}


def _index_1(casadi: Any, fit: Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    p = casadi.SX.sym("p", 6)
    mechanism = _fourbar.FourBar(casadi.vertsplit(p))
    symbols = Symbols(casadi, mechanism, p)
    _, vdot, lam = symbols.start(mechanism.q0, mechanism.v0, fit.point)
    x0 = np.concatenate([mechanism.q0, mechanism.v0])
    return index_1(casadi, symbols), {"x0": x0, "z0": np.concatenate([vdot, lam])}
