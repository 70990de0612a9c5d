"""Radau IIA of solve_dae."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._mechanism import Mechanism
from ._require import peer
from ._residual import residual
from ._run import Run


class SolveDAE:
    """Radau IIA with three stages, with residuals and Jacobians that numba has compiled."""

    def __init__(self, mechanism: Mechanism):
        self.name = "solve_dae Radau(3)"
        self._mechanism, self._solve = mechanism, peer("solve_dae.integrate").solve_dae
        self._form = form = residual(mechanism, "gglint")
        n = len(form.x0)

        def function(t, x, xdot):
            out = np.zeros(n)
            form.function(t, x, xdot, out)
            return out

        def jacobians(t, x, xdot):
            by_x, by_xdot = np.zeros((n, n)), np.zeros((n, n))
            form.jacobians(t, x, xdot, by_x, by_xdot)
            return by_x, by_xdot

        function(0.0, form.x0, form.xdot0)
        jacobians(0.0, form.x0, form.xdot0)
        self._function, self._jacobians = function, jacobians

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        return lambda: self._solve(
            self._function, (0.0, self._mechanism.t_end), self._form.x0, self._form.xdot0,
            jac=self._jacobians, rtol=tolerance, atol=tolerance, method="Radau", stages=3,
        )  # fmt: skip

    def read(self, result: Any) -> Run:
        """What the function returned."""
        if not result.success:
            raise RuntimeError(str(result.message))
        return Run(result.y[: self._mechanism.nq + self._mechanism.nv, -1])
