"""Motions of trees over a second against MuJoCo's RK4, at steps so small that it converges."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.multibody._spec import simulator

from .._figures import at_most, Figure, note
from ._found import named, Pair, pair, TINY


mujoco: Any = simulator()
NAMES = ("iiwa14.urdf", "panda.urdf", "humanoid.xml", "ant.xml", "walker.xml", "ur5_robot.urdf")
SECONDS, ERROR = 1.0, 1e-7
STEPS = (5e-4, 2e-4, 1e-4, 5e-5)


def trees(tiny: bool) -> Iterator[Figure]:
    """The largest difference of a coordinate at the end, at the best of MuJoCo's steps."""
    if tiny:
        both = pair(TINY, "two bodies")
        assert both is not None
        yield _compared(both, 0.05, STEPS[:1])
        return
    for name in NAMES:
        path = named(name)
        both = None if path is None else pair(path, name)
        if both is None or both.ours.loops.count:
            yield note(f"{name}: difference from MuJoCo", "not found")
            continue
        yield _compared(both, SECONDS, STEPS)


def _compared(both: Pair, seconds: float, steps: tuple[float, ...]) -> Figure:
    model = both.model
    v = 0.1 * np.random.default_rng(1).normal(size=model.nv)
    y, z = both.state(np.array(model.qpos0), v)
    end = jaxspark.solve(
        both.ours.system, jnp.asarray(y), jnp.asarray(z), both.ours.parameters, t1=seconds,
        rtol=1e-11, atol=1e-11, max_steps=20000,
    )  # fmt: skip
    found = []
    for step in steps:
        data = mujoco.MjData(model)
        model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
        data.qvel[:] = v
        for _ in range(round(seconds / step)):
            mujoco.mj_step(model, data)
        found.append(float(np.max(np.abs(np.asarray(end.y1)[both.y] - data.qpos))))
    words = ", ".join(f"{error:.0e}" for error in found)
    what = f"{both.name}: difference from MuJoCo after {seconds:g} s ({words}), least"
    return at_most(what, min(found), ERROR)
