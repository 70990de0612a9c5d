"""CasADi's integrators on the index-1 equations: idas, and collocation at Gauss points."""

import shutil
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ._mechanism import Mechanism
from ._require import peer
from ._run import Run
from ._symbols import Symbols


Plugin = Literal["idas", "gauss"]
MAX_STEPS = 100_000  # of idas
JIT = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O2"], "verbose": False}}


def index_1(casadi: Any, symbols: Symbols) -> dict[str, Any]:
    """`x` is coordinates and velocities, `z` accelerations and multipliers."""
    a = casadi.SX.sym("a", symbols.v.numel())
    lam = casadi.SX.sym("lam", symbols.rows.size1())
    motion = casadi.mtimes(symbols.mass, a) - symbols.force + casadi.mtimes(symbols.rows.T, lam)
    dae = {
        "t": symbols.t,
        "x": casadi.vertcat(symbols.q, symbols.v),
        "z": casadi.vertcat(a, lam),
        "ode": casadi.vertcat(symbols.kin, a),
        "alg": casadi.vertcat(motion, casadi.mtimes(symbols.rows, a) + symbols.bias),
    }
    return dae if symbols.parameters is None else dae | {"p": symbols.parameters}


def collocation(stages: int, elements: int) -> dict[str, Any]:
    """The options of collocation at Gauss points with so many equal elements."""
    newton = {"abstol": 1e-11, "abstolStep": 1e-12, "max_iter": 50}
    return {
        "collocation_scheme": "legendre", "interpolation_order": stages,
        "number_of_finite_elements": elements, "simplify": False, "rootfinder": "fast_newton",
        "rootfinder_options": newton,
    }  # fmt: skip


class CasADi:
    """An integrator of CasADi, with expressions that gcc has compiled if it is there.

    **Arguments:**

    - `plugin`: idas, whose setting is its tolerance, or collocation, whose setting is the
        length of an element as a fraction of the whole time.
    - `stages`: of collocation.
    """

    def __init__(self, mechanism: Mechanism, plugin: Plugin, stages: int = 4):
        self._mechanism, self._plugin, self._stages = mechanism, plugin, stages
        self._casadi = peer("casadi")
        compiled = plugin == "idas" and shutil.which("gcc") is not None
        words = "idas" + (", compiled" if compiled else "")
        self.name = f"CasADi {words if plugin == 'idas' else f'Gauss collocation ({stages})'}"
        self._jit = JIT if compiled else {}
        symbols = Symbols(self._casadi, mechanism)
        self._dae = index_1(self._casadi, symbols)
        qdot, vdot, lam = symbols.start(mechanism.q0, mechanism.v0)
        self._x0 = np.concatenate([mechanism.q0, mechanism.v0])
        self._z0, self._xdot0 = np.concatenate([vdot, lam]), np.concatenate([qdot, vdot])

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this setting."""
        return self.at([self._mechanism.t_end], tolerance)

    def at(self, times: Sequence[float], tolerance: float) -> Callable[[], Any]:
        """A function that returns the states at these times, shape `(len(times), nq + nv)`."""
        if self._plugin == "idas":
            options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": MAX_STEPS}
            options |= {"init_xdot": self._xdot0.tolist(), **self._jit}
            plugin = "idas"
        else:
            options = collocation(self._stages, round(1 / tolerance))
            plugin = "collocation"
        run = self._casadi.integrator("run", plugin, self._dae, 0.0, list(times), options)
        return lambda: np.array(run(x0=self._x0, z0=self._z0)["xf"]).T

    def read(self, result: Any) -> Run:
        """What the function returned."""
        if not np.all(np.isfinite(result)):
            raise RuntimeError(f"{self.name} failed")
        return Run(result[-1])
