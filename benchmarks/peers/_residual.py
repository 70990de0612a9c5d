"""Residual forms `F(t, x, x') = 0` of a mechanism, for solvers of implicit equations."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ._emit import compiled
from ._mechanism import Mechanism
from ._require import peer
from ._symbols import Symbols


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


@functools.lru_cache(maxsize=2)  # numba takes seconds
def residual(mechanism: Mechanism, form: Form) -> Residual:
    """The equations of Gear, Gupta and Leimkuhler: constraints on both levels, index 2.

    With `"gglint"` the unknowns are the integrals of the multipliers, and the index is 1.

    Source: C. W. Gear, G. K. Gupta & B. Leimkuhler, *Automatic integration of Euler-Lagrange
    equations with constraints*, J. Comput. Appl. Math. 12 (1985); C. W. Gear,
    *Differential-algebraic equation index transformations*, SIAM J. Sci. Stat. Comput. 9 (1988),
    for the integrals.
    """
    casadi = peer("casadi")
    symbols = Symbols(casadi, mechanism)
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
    x0, xdot0 = _start(mechanism, symbols, form)
    differential = mechanism.nq + mechanism.nv
    return Residual(
        compiled("function", inputs, [equations], (0,)),
        compiled("combined", [*inputs, c], [by_x + c * by_xdot], (0, 3)),
        compiled("jacobians", inputs, [by_x, by_xdot], (0,)),
        x0,
        xdot0,
        [] if form == "gglint" else list(range(differential, x.numel())),
    )


def _start(mechanism: Mechanism, symbols: Symbols, form: Form) -> tuple[np.ndarray, np.ndarray]:
    """Consistent `x` and `x'` at the initial time, from the index-1 equations."""
    qdot, vdot, lam = symbols.start(mechanism.q0, mechanism.v0)
    none, zeros = np.zeros(len(lam)), np.zeros(symbols.position.size1())
    held, moving = (none, lam) if form == "gglint" else (lam, none)
    x0 = np.concatenate([mechanism.q0, mechanism.v0, held, zeros])
    return x0, np.concatenate([qdot, vdot, moving, zeros])
