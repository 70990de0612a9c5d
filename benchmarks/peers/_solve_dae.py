"""Radau IIA of solve_dae."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._ida import UNCONTROLLED
from ._mechanism import Mechanism
from ._require import peer
from ._residual import Form, residual
from ._run import Run


class SolveDAE:
    """Radau IIA, with residuals and Jacobians that numba has compiled.

    The multipliers of the index-2 form are not in the error test.

    **Arguments:**

    - `velocities`: whether they are in the error test.
    - `max_evaluations`: after how many a run fails; solve_dae has no limit of its own.
    - `stages`: three, or five.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        form: Form = "gglint",
        velocities: bool = True,
        max_evaluations: int = 10_000_000,
        stages: int = 3,
    ):
        self.name, self._stages = f"solve_dae Radau({stages})", stages
        self._mechanism, self._solve = mechanism, peer("solve_dae.integrate").solve_dae
        self._equations = equations = residual(mechanism, form)
        n = len(equations.x0)
        self._untested = list(equations.algebraic)
        if not velocities:
            self._untested += range(mechanism.nq, mechanism.nq + mechanism.nv)

        self._evaluations = 0

        def function(t, x, xdot):
            self._evaluations += 1
            if self._evaluations > max_evaluations:
                raise RuntimeError(f"{self.name} needs more than {max_evaluations} evaluations")
            out = np.zeros(n)
            equations.function(t, x, xdot, out)
            return out

        def jacobians(t, x, xdot):
            by_x, by_xdot = np.zeros((n, n)), np.zeros((n, n))
            equations.jacobians(t, x, xdot, by_x, by_xdot)
            return by_x, by_xdot

        function(0.0, equations.x0, equations.xdot0)
        jacobians(0.0, equations.x0, equations.xdot0)
        self._function, self._jacobians = function, jacobians

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        atol = np.full(len(self._equations.x0), tolerance)
        atol[self._untested] = UNCONTROLLED

        def solve():
            self._evaluations = 0
            return self._solve(
                self._function, (0.0, self._mechanism.t_end), self._equations.x0,
                self._equations.xdot0, jac=self._jacobians, rtol=tolerance, atol=atol,
                method="Radau", stages=self._stages,
            )  # fmt: skip

        return solve

    def count(self, tolerance: float) -> int:
        """The number of accepted steps, from a run of its own."""
        return int(self.run(tolerance)().naccpt)

    def read(self, result: Any) -> Run:
        """What the function returned."""
        if not result.success:
            raise RuntimeError(str(result.message))
        return Run(result.y[: self._mechanism.nq + self._mechanism.nv, -1])
