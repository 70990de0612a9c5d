r"""Equations of motion as expressions of plain symbols.

    y' = v,   d/dt p = f - (g_y v_z)^T lam - k_z^T psi,   0 = g,   0 = k

and the same for accelerations `u = z'`,

    M u + C^T mu = h,   C u + c = 0,   mu = (lam, psi),

with `M = p_z`, `h = f - p_y v - p_t`, `C = b_z` and `c = b_y v + b_t` of `b = [g_y v + g_t; k]`.

Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._symbols import Symbols
from ._sympy import sympy


@dataclasses.dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a mechanism.

    - `symbols`: what occurs in them.
    - `v`: the derivatives of the coordinates; `None` if they are the velocities.
    - `M`, `h`: mass matrix and forces, those of Coriolis among them.
    - `p`, `f`: momenta, and what changes them.
    - `g`, `k`: holonomic and nonholonomic constraints.
    """

    symbols: Symbols
    v: Any
    M: Any
    h: Any
    p: Any
    f: Any
    g: Any
    k: Any

    def rates(self) -> tuple[Any, Any, Any]:
        """`C`, `b` and `c`."""
        sp, s = sympy(), self.symbols
        rows = [*along(self.g, s, self.v), *self.k]
        b = sp.Matrix(len(rows), 1, rows)
        return jacobian(b, s.z), b, along(b, s, self.v)


def of_momenta(symbols: Symbols, p: Any, f: Any, g: Any, k: Any) -> Equations:
    """The equations of momenta and forces, with the derivatives of coordinates as velocities."""
    M = jacobian(p, symbols.z)
    return Equations(symbols, None, M, f - along(p, symbols, None), p, f, g, k)


def of_mass(symbols: Symbols, v: Any, M: Any, h: Any, g: Any, k: Any) -> Equations:
    """The equations of a mass matrix and forces."""
    sp = sympy()
    z = sp.Matrix(symbols.z)
    transport = along(M.reshape(len(M), 1), symbols, v).reshape(*M.shape) * z
    return Equations(symbols, v, M, h, M * z, h + transport, g, k)


def jacobian(rows: Any, of: Sequence[Any]) -> Any:
    """The derivatives of a column, one row for each entry."""
    return sympy().Matrix(len(rows), len(of), lambda i, j: rows[i].diff(of[j]))


def along(rows: Any, symbols: Symbols, v: Any) -> Any:
    """The derivative of a column along `(1, v, 0)`."""
    sp = sympy()
    rates = symbols.z if v is None else list(v)
    of = lambda x: x.diff(symbols.t) + sum(x.diff(q) * r for q, r in zip(symbols.y, rates))
    return sp.Matrix(len(rows), 1, lambda i, _: of(rows[i]))


def constraints(
    symbols: Symbols, holonomic: Sequence[Any], nonholonomic: Sequence[Any]
) -> tuple[Any, Any]:
    """The constraints as columns `g` and `k`.

    **Raises:** `ValueError` if a holonomic constraint has velocities, or a nonholonomic one none.
    """
    sp = sympy()
    g = [symbols.plain(x, f"holonomic[{n}]") for n, x in enumerate(holonomic)]
    k = [symbols.plain(x, f"nonholonomic[{n}]") for n, x in enumerate(nonholonomic)]
    for n, x in enumerate(g):
        if x.free_symbols & set(symbols.z):
            raise ValueError(
                f"holonomic[{n}] has velocities; a condition on them belongs in nonholonomic."
            )
        if not x.free_symbols & set(symbols.y):
            raise ValueError(f"holonomic[{n}] has no coordinates.")
    for n, x in enumerate(k):
        if not x.free_symbols & set(symbols.z):
            raise ValueError(
                f"nonholonomic[{n}] has no velocities; a condition on coordinates belongs in "
                "holonomic."
            )
    inputs = {symbol: name for name, symbol in symbols.inputs.items()}
    without_inputs(inputs, {"constraints": [*g, *k]})
    return sp.Matrix(len(g), 1, g), sp.Matrix(len(k), 1, k)


def without_inputs(inputs: dict[Any, str], where: dict[str, Sequence[Any]]) -> None:
    """Raise `ValueError`, naming it, if an input occurs in these expressions."""
    for what, expressions in where.items():
        found = {x for e in expressions for x in e.free_symbols} & set(inputs)
        if found:
            raise ValueError(
                f"The inputs {sorted(inputs[x] for x in found)} occur in the {what}; they may "
                "occur in forces and potentials alone. Write a motion that is prescribed as an "
                "expression of the time."
            )
