"""IDA of SUNDIALS, by scikit-sundae: BDF of variable order."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._mechanism import Mechanism
from ._require import peer
from ._residual import Form, residual
from ._run import Run


MAX_STEPS = 100_000
UNCONTROLLED = 1e8  # an absolute tolerance that takes an unknown out of the error test


class IDA:
    """IDA, with residuals and Jacobians that numba has compiled.

    The multipliers of the index-2 form are not in the error test, as IDA's manual advises.

    **Arguments:**

    - `velocities`: whether they are in the error test.
    - `max_order`: of BDF.
    """

    def __init__(
        self, mechanism: Mechanism, form: Form, velocities: bool = True, max_order: int = 5
    ):
        self.name = f"IDA {form}"
        self._mechanism, self._ida = mechanism, peer("sksundae").ida
        self._equations = equations = residual(mechanism, form)
        self._max_order, self._untested = max_order, list(equations.algebraic)
        if not velocities:
            self._untested += range(mechanism.nq, mechanism.nq + mechanism.nv)

        def function(t, x, xdot, out):
            out[:] = 0.0
            equations.function(t, x, xdot, out)

        def jacobian(t, x, xdot, value, c, out):
            del value
            out[:] = 0.0
            equations.combined(t, x, xdot, c, out)

        n = len(equations.x0)
        function(0.0, equations.x0, equations.xdot0, np.zeros(n))
        jacobian(0.0, equations.x0, equations.xdot0, None, 1.0, np.zeros((n, n)))
        self._function, self._jacobian = function, jacobian
        # Its own arrays are of another type to numba, which compiles for them, too.
        self._solve(1e-3, [0.0, 1e-12 * mechanism.t_end, 2e-12 * mechanism.t_end])

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        # With two times it would save every step.
        times = [0.0, 0.5 * self._mechanism.t_end, self._mechanism.t_end]
        return lambda: self._solve(tolerance, times)

    def count(self, tolerance: float) -> int:
        """The number of steps, from a run of its own."""
        return len(self._solve(tolerance, [0.0, self._mechanism.t_end]).t) - 1

    def _solve(self, tolerance: float, times: list[float]) -> Any:
        atol = np.full(len(self._equations.x0), tolerance)
        atol[self._untested] = UNCONTROLLED
        solver = self._ida.IDA(
            self._function, jacfn=self._jacobian, rtol=tolerance, atol=atol,
            algebraic_idx=self._equations.algebraic or None, max_num_steps=MAX_STEPS,
            max_order=self._max_order,
        )  # fmt: skip
        return solver.solve(times, self._equations.x0, self._equations.xdot0)

    def read(self, result: Any) -> Run:
        """What the function returned."""
        if not result.success or result.t[-1] < self._mechanism.t_end * (1 - 1e-12):
            raise RuntimeError(str(result.message))
        return Run(result.y[-1, : self._mechanism.nq + self._mechanism.nv])
