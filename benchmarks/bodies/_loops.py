"""Closed loops: residuals over ten seconds, ours and MuJoCo's, and motions of both."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.multibody._spec import simulator

from .._figures import at_most, Figure, note
from ._found import named, Pair, pair


mujoco: Any = simulator()
GRIPPER = "panda_updated_robotiq_2f85.xml"
# Bars of .3, 1 and .8 m, the last joint of which is a `connect` of two points.
FOUR_BAR = """<mujoco><worldbody>
<body name="crank"><joint name="a" axis="0 1 0"/>
<inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
<body name="coupler" pos=".3 0 0"><joint name="b" axis="0 1 0"/><site name="s1" pos="1 0 0"/>
<inertial pos=".5 0 0" mass="1.5" diaginertia=".12 .12 .12"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="d" axis="0 1 0"/><site name="s2" pos=".8 0 0"/>
<inertial pos=".4 0 0" mass="2" diaginertia=".1 .1 .1"/></body></worldbody>
<equality><connect name="c" site1="s1" site2="s2"/></equality></mujoco>"""
SECONDS, RESIDUAL, STEP = 10.0, 1e-13, 1e-4


def loops(tiny: bool) -> Iterator[Figure]:
    """Residuals of `g` and, beside, those of MuJoCo at its own settings."""
    both = pair(FOUR_BAR, "four-bar")
    assert both is not None
    start = {"a": -0.5}, {"a": -2.0}
    y, z = both.ours.state(*start, guess={"b": -0.5, "d": -1.8})
    yield from _drift(both, y, z, 0.1 if tiny else SECONDS)
    path = None if tiny else named(GRIPPER)
    gripper = None if path is None else pair(path, GRIPPER)
    if gripper is not None:
        key = gripper.model.key_qpos[0] if gripper.model.nkey else gripper.model.qpos0
        guess = {
            name: gripper.state(key, np.zeros(gripper.model.nv))[0][at]
            for name, (at, _) in gripper.ours._at.items()
        }
        yield from _drift(gripper, *gripper.ours.state(guess=guess), SECONDS)
    elif not tiny:
        yield note(f"{GRIPPER}: residual", "not found")


def _drift(both: Pair, y: jnp.ndarray, z: jnp.ndarray, seconds: float) -> Iterator[Figure]:
    ours = both.ours
    end = jaxspark.solve(
        ours.system, y, z, ours.parameters, t1=seconds, rtol=1e-9, atol=1e-9, max_steps=100_000
    )
    what = f"{both.name}, {seconds:g} s: largest residual of a loop"
    yield at_most(what, float(end.stats.max_g), RESIDUAL)
    model = both.model
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = np.asarray(y)[both.y], np.asarray(z)[both.z]
    worst = 0.0
    while data.time < seconds - STEP / 2:
        mujoco.mj_step(model, data)
        worst = max(worst, float(np.max(np.abs(data.efc_pos[: data.ne]), initial=0)))
    apart = float(np.max(np.abs(np.asarray(end.y1)[both.y] - data.qpos)))
    words = f"{worst:.1e}; {apart:.1e}"
    yield note(f"{what} of MuJoCo as in the file, RK4 at {STEP:g} s; coordinates apart", words)
