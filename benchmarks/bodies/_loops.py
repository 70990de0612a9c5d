"""Closed loops: residuals over ten seconds, ours and MuJoCo's, and motions of both."""

import pathlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import jaxspark
from jaxspark.multibody._spec import simulator

from .._figures import at_most, Figure, note
from . import _linkages as linkages
from ._export import mjcf
from ._found import files, named, Pair, pair
from ._sdf import as_mjcf
from ._stewart import stewart


mujoco: Any = simulator()
GRIPPER, CASSIE, CONSTRAINTS = "panda_updated_robotiq_2f85.xml", "cassie_v2.sdf", "constraints.xml"
# Bars of .3, 1 and .8 m, the last joint of which is a `connect` of two points.
FOUR_BAR = """<mujoco><worldbody>
<body name="crank"><joint name="a" axis="0 1 0"/>
<inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
<body name="coupler" pos=".3 0 0"><joint name="b" axis="0 1 0"/><site name="s1" pos="1 0 0"/>
<inertial pos=".5 0 0" mass="1.5" diaginertia=".12 .12 .12"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="d" axis="0 1 0"/><site name="s2" pos=".8 0 0"/>
<inertial pos=".4 0 0" mass="2" diaginertia=".1 .1 .1"/></body></worldbody>
<equality><connect name="c" site1="s1" site2="s2"/></equality></mujoco>"""
SECONDS, RESIDUAL, STEP, MOTION = 10.0, 1e-13, 1e-4, 1e-8
# Of the motions that are compared with references, and of the others.
TIGHT, LOOSE = 1e-11, 1e-9


def loops(tiny: bool) -> Iterator[Figure]:
    """Residuals of `g` and, beside, those of MuJoCo at its own settings; two motions."""
    both = pair(FOUR_BAR, "four-bar")
    assert both is not None
    start = {"a": -0.5}, {"a": -2.0}
    y, z = both.ours.state(*start, guess={"b": -0.5, "d": -1.8})
    yield from _of_pair(both, y, z, 0.1 if tiny else SECONDS)
    if tiny:
        return
    yield from _of_files()
    foot = linkages.apex(*(linkages.JANSEN[x] for x in "gih"))
    yield from _built(
        "Jansen's linkage", linkages.jansen, linkages.jansen_natural, 7,
        lambda m, y: m.position("lower", y, foot)[:2],
    )  # fmt: skip
    yield from _built(
        "delta robot", linkages.delta, linkages.delta_natural, 0, lambda m, y: m.position("tool", y)
    )
    yield from _built("Stewart platform", stewart)


def _of_files() -> Iterator[Figure]:
    """Robots of files, from the first keyframe or the file's zero."""
    for name in (GRIPPER, CONSTRAINTS, CASSIE):
        path = named_or_sdf(name)
        both = None if path is None else pair(source(path), name)
        if both is None:
            yield note(f"{name}: residual", "not found")
            continue
        key = both.model.key_qpos[0] if both.model.nkey else both.model.qpos0
        at_key = both.state(key, np.zeros(both.model.nv))[0]
        guess = {name: at_key[at] for name, (at, _) in both.ours._at.items()}
        yield from _of_pair(both, *both.ours.state(guess=guess), SECONDS)
        jax.clear_caches()


def source(path: pathlib.Path) -> Any:
    """What MuJoCo reads: of SDF the same as MJCF, of others without tendons at ball joints."""
    if path.suffix == ".sdf":
        return as_mjcf(path)
    if path.name != CONSTRAINTS:
        return path
    root = ElementTree.parse(path).getroot()
    for parent in [root, *root.iter("equality")]:
        for tendon in parent.findall("tendon"):
            parent.remove(tendon)
    return ElementTree.tostring(root, encoding="unicode")


def named_or_sdf(name: str) -> pathlib.Path | None:
    """A file of this name, SDF or not."""
    return next((path for path in files((".sdf",)) if path.name == name), None) or named(name)


def _of_pair(both: Pair, y: Any, z: Any, seconds: float) -> Iterator[Figure]:
    def placed(y: Any, z: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(y)[both.y], np.asarray(z)[both.z]

    end = _motion(both.ours, y, z, seconds, LOOSE)
    yield from _drift(both.name, end, placed, (y, z), both.model, seconds)


def _built(
    name: str,
    build: Callable[[], Any],
    natural: Callable[..., Any] | None = None,
    vector: int = 0,
    point: Callable[..., Any] | None = None,
) -> Iterator[Figure]:
    """A mechanism of bodies and joints, and the same from its MJCF in MuJoCo."""
    mechanism, (y, z) = build()
    model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    placed = placing(mechanism, model)
    end = _motion(mechanism, y, z, SECONDS, TIGHT)
    yield from _drift(name, end, placed, (y, z), model, SECONDS)
    if natural is not None and point is not None:
        other, velocities = natural(mechanism, y)
        exact = other.motion(velocities, [SECONDS])[-1, vector]
        apart = float(np.max(np.abs(np.asarray(point(mechanism, end.y1)) - exact)))
        what = f"{name}, {SECONDS:g} s: a point from that in natural coordinates, m"
        yield at_most(what, apart, MOTION)
    jax.clear_caches()


def placing(mechanism: Any, model: Any) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """A state of a mechanism as that of the model of its MJCF, as a function."""

    def placed(y: Any, z: Any) -> tuple[np.ndarray, np.ndarray]:
        q, v = np.zeros(model.nq), np.zeros(model.nv)
        of_z = mechanism.velocities(np.asarray(z))
        for joint, values in mechanism.coordinates(np.asarray(y)).items():
            number = model.joint(joint if len(values) != 2 else f"{joint} 0").id
            first, second = model.jnt_qposadr[number], model.jnt_dofadr[number]
            q[first : first + len(values)] = values
            v[second : second + len(of_z[joint])] = of_z[joint]
        return q, v

    return placed


def _motion(ours: Any, y: Any, z: Any, seconds: float, tolerance: float) -> jaxspark.Solution:
    return jaxspark.solve(
        ours.system, y, z, ours.parameters, t1=seconds, rtol=tolerance, atol=tolerance,
        max_steps=100_000,
    )  # fmt: skip


def _drift(
    name: str,
    end: jaxspark.Solution,
    placed: Callable[..., Any],
    start: tuple[Any, Any],
    model: Any,
    seconds: float,
) -> Iterator[Figure]:
    what = f"{name}, {seconds:g} s: largest residual of a loop"
    yield at_most(what, float(end.stats.max_g), RESIDUAL)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = placed(*start)
    worst = 0.0
    while data.time < seconds - STEP / 2:
        mujoco.mj_step(model, data)
        worst = max(worst, float(np.max(np.abs(data.efc_pos[: data.ne]), initial=0)))
    apart = float(np.max(np.abs(placed(end.y1, end.z1)[0] - data.qpos)))
    words = f"{worst:.1e}; {apart:.1e}"
    yield note(f"{what} of MuJoCo as in the file, RK4 at {STEP:g} s; coordinates apart", words)
