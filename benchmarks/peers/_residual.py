"""Residual forms `F(t, x, x') = 0` of a mechanism, for solvers of implicit equations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._emit import compiled
from ._mechanism import Mechanism
from ._require import peer


Form = Literal["ggl", "gglint"]


@dataclass(frozen=True)
class Residual:
    """A residual form, compiled, and a consistent start.

    - `function`: `function(t, x, xdot, out)`.
    - `combined`: `combined(t, x, xdot, c, out)`, the Jacobian `F_x + c F_xdot`.
    - `jacobians`: `jacobians(t, x, xdot, out_x, out_xdot)`.
    - `x0`, `xdot0`: coordinates, velocities, and the multipliers or their integrals.
    - `algebraic`: the indices of unknowns without derivatives.

    The functions write what is not structurally zero.
    """

    function: Callable[..., None]
    combined: Callable[..., None]
    jacobians: Callable[..., None]
    x0: np.ndarray
    xdot0: np.ndarray
    algebraic: list[int]


def residual(mechanism: Mechanism, form: Form) -> Residual:
    """The equations of Gear, Gupta and Leimkuhler: constraints on both levels, index 2.

    With `"gglint"` the unknowns are the integrals of the multipliers, and the index is 1.

    Source: C. W. Gear, G. K. Gupta & B. Leimkuhler, *Automatic integration of Euler-Lagrange
    equations with constraints*, J. Comput. Appl. Math. 12 (1985); C. W. Gear,
    *Differential-algebraic equation index transformations*, SIAM J. Sci. Stat. Comput. 9 (1988),
    for the integrals.
    """
    casadi = peer("casadi")
    symbols = _Symbols(casadi, mechanism)
    new = casadi.SX.sym
    qdot, vdot = new("qdot", mechanism.nq), new("vdot", mechanism.nv)
    lam, mu = new("lam", symbols.rows.size1()), new("mu", symbols.position.size1())
    lamdot, mudot = new("lamdot", lam.numel()), new("mudot", mu.numel())
    force, push = (lamdot, mudot) if form == "gglint" else (lam, mu)
    reaction = casadi.mtimes(symbols.rows.T, force)
    equations = casadi.vertcat(
        qdot - symbols.kin + casadi.mtimes(symbols.turn, casadi.mtimes(symbols.g_rows.T, push)),
        casadi.mtimes(symbols.mass, vdot) - symbols.force + reaction,
        symbols.rate,
        symbols.position,
    )
    x = casadi.vertcat(symbols.q, symbols.v, lam, mu)
    xdot = casadi.vertcat(qdot, vdot, lamdot, mudot)
    by_x, by_xdot = casadi.jacobian(equations, x), casadi.jacobian(equations, xdot)
    inputs, c = [symbols.t, x, xdot], new("c")
    x0, xdot0 = _start(casadi, mechanism, symbols, form)
    differential = mechanism.nq + mechanism.nv
    return Residual(
        compiled("function", inputs, [equations], (0,)),
        compiled("combined", [*inputs, c], [by_x + c * by_xdot], (0, 3)),
        compiled("jacobians", inputs, [by_x, by_xdot], (0,)),
        x0,
        xdot0,
        [] if form == "gglint" else list(range(differential, x.numel())),
    )


class _Symbols:
    """The functions of a mechanism as CasADi's expressions of `t`, `q`, `v`."""

    def __init__(self, casadi: Any, mechanism: Mechanism):
        def column(entries):
            return casadi.SX(casadi.vertcat(*entries)) if len(entries) else casadi.SX(0, 1)

        def matrix(rows):
            return casadi.SX(casadi.vertcat(*(casadi.horzcat(*row) for row in rows)))

        new = casadi.SX.sym
        self.t, self.q, self.v = new("t"), new("q", mechanism.nq), new("v", mechanism.nv)
        q, v = casadi.vertsplit(self.q), casadi.vertsplit(self.v)
        self.kin = column(mechanism.kin(casadi, q, v))
        self.turn = casadi.jacobian(self.kin, self.v)
        self.mass = matrix(mechanism.mass(casadi, q))
        self.force = column(mechanism.force(casadi, self.t, q, v))
        self.position = column(mechanism.holonomic(casadi, self.t, q))
        self.g_rows = casadi.mtimes(casadi.jacobian(self.position, self.q), self.turn)
        self.rows = self.g_rows
        self.rate = casadi.mtimes(self.rows, self.v) + casadi.jacobian(self.position, self.t)
        blades = mechanism.nonholonomic(casadi, q)
        if blades:
            self.rows = casadi.vertcat(self.rows, matrix(blades))
            self.rate = casadi.vertcat(self.rate, casadi.mtimes(matrix(blades), self.v))


def _start(
    casadi: Any, mechanism: Mechanism, symbols: _Symbols, form: Form
) -> tuple[np.ndarray, np.ndarray]:
    """Consistent `x` and `x'` at the initial time, from the index-1 equations."""
    number = symbols.rows.size1()
    bias = casadi.mtimes(casadi.jacobian(symbols.rate, symbols.q), symbols.kin)
    bias = bias + casadi.jacobian(symbols.rate, symbols.t)
    matrix = casadi.blockcat(
        [[symbols.mass, symbols.rows.T], [symbols.rows, casadi.SX(number, number)]]
    )
    values = casadi.Function(
        "start",
        [symbols.t, symbols.q, symbols.v],
        [matrix, casadi.vertcat(symbols.force, -bias), symbols.kin],
    )(0.0, mechanism.q0, mechanism.v0)
    matrix, rhs, qdot = (np.array(value) for value in values)
    solution = np.linalg.solve(matrix, rhs[:, 0])
    vdot, lam = solution[: mechanism.nv], solution[mechanism.nv :]
    none, zeros = np.zeros(number), np.zeros(symbols.position.size1())
    held, moving = (none, lam) if form == "gglint" else (lam, none)
    x0 = np.concatenate([mechanism.q0, mechanism.v0, held, zeros])
    return x0, np.concatenate([qdot[:, 0], vdot, moving, zeros])
