"""MuJoCo's C on the same motions: the largest time step with a given error, and what it costs."""

import time
from typing import Any, NamedTuple

import numpy as np

from jaxspark.multibody._spec import simulator


mujoco: Any = simulator()
STEPS = (2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
# How constraints are as stiff as they go: time constants in time steps, and impedances.
STIFFEST, IMPEDANCE = 2.0, (0.9999, 0.9999, 0.001, 0.5, 2.0)
REPEATED = 3


class Beside(NamedTuple):
    """CPU seconds, at which time step (s), and the error of the coordinates."""

    spent: float
    step: float
    error: float


def beside(
    model: Any, q: np.ndarray, v: np.ndarray, exact: np.ndarray, t1: float, error: float
) -> Beside:
    """By its method of Runge and Kutta, equality constraints as stiff as they go.

    **Arguments:**

    - `q`, `v`: where it starts; `exact`: the coordinates at `t1`.
    - `error`: of the coordinates, which is wanted.

    **Returns:** that of the largest step whose error is small enough, or else of the smallest one.
    """
    option = model.opt
    option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    option.solver, option.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 100
    option.tolerance = 1e-14
    found = Beside(np.nan, np.nan, np.nan)
    for step in STEPS:
        option.timestep = step
        model.eq_solref[:], model.eq_solimp[:] = (STIFFEST * step, 1.0), IMPEDANCE
        spent = []
        for _ in range(REPEATED):
            data = mujoco.MjData(model)
            data.qpos[:], data.qvel[:] = q, v
            begun = time.process_time()
            mujoco.mj_step(model, data, round(t1 / step))
            spent.append(time.process_time() - begun)
        found = Beside(min(spent), step, float(np.max(np.abs(data.qpos - exact))))
        if found.error <= error:
            break
    return found
