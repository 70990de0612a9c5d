"""The equations of a mechanism as expressions of CasADi."""

from typing import Any

import numpy as np

from ._mechanism import Mechanism


class Symbols:
    """The functions of a mechanism as CasADi's expressions of `t`, `q`, `v`.

    - `kin`, `turn`: the derivatives of the coordinates, and theirs by the velocities.
    - `mass`, `force`: of the equations of motion.
    - `position`, `rate`: the constraints on coordinates and on velocities.
    - `g_rows`, `rows`: the derivatives of the rates by the velocities, of the holonomic
        constraints and of all.
    - `bias`: what the derivatives of the rates are without accelerations.

    **Arguments:**

    - `casadi`: the module.
    - `mechanism`: its parameters may be symbols.
    - `parameters`: these symbols, if there are any.
    """

    def __init__(self, casadi: Any, mechanism: Mechanism, parameters: Any = None):
        def column(entries):
            return casadi.SX(casadi.vertcat(*entries)) if len(entries) else casadi.SX(0, 1)

        def matrix(rows):
            return casadi.SX(casadi.vertcat(*(casadi.horzcat(*row) for row in rows)))

        new = casadi.SX.sym
        self._casadi, self.parameters = casadi, parameters
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
        self.bias = casadi.mtimes(casadi.jacobian(self.rate, self.q), self.kin)
        self.bias = self.bias + casadi.jacobian(self.rate, self.t)

    def start(self, q: Any, v: Any, *parameters: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of coordinates and velocities, and multipliers, at the initial time."""
        number = self.rows.size1()
        corner = self._casadi.SX(number, number)
        matrix = self._casadi.blockcat([[self.mass, self.rows.T], [self.rows, corner]])
        right = self._casadi.vertcat(self.force, -self.bias)
        given = [self.t, self.q, self.v, *([] if self.parameters is None else [self.parameters])]
        values = self._casadi.Function("start", given, [matrix, right, self.kin])
        matrix, right, qdot = (np.array(x) for x in values(0.0, q, v, *parameters))
        solution = np.linalg.solve(matrix, right[:, 0])
        split = self.v.numel()
        return qdot[:, 0], solution[:split], solution[split:]
