"""MuJoCo: trees of joints, loops closed by soft constraints, Runge-Kutta steps of order four."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _fourbar
from ._pendulum import GRAVITY, Pendulum
from ._require import peer
from ._run import Run


INERTIA = 1e-6  # kg m^2, of a point mass: MuJoCo needs some


class Model(NamedTuple):
    """A mechanism for MuJoCo.

    - `xml`: the model, as a function of the step size.
    - `to`, `back`: from coordinates and velocities, each shape `(n,)`, to MuJoCo's, and back.
    """

    xml: Callable[[float], str]
    to: Callable[[Any, Any], tuple[Any, Any]]
    back: Callable[[Any, Any], tuple[Any, Any]]


def _head(step: float) -> str:
    """The options; the stiffest constraint that the manual recommends is twice the step."""
    return (
        f'<option timestep="{step}" integrator="RK4" gravity="0 0 -{GRAVITY}">'
        '<flag contact="disable"/></option><compiler angle="radian" boundinertia="1e-9"/>'
    )


def _connect(step: float, what: str) -> str:
    return (
        f'<equality><connect {what} solref="{2 * step} 1" solimp="0.999 0.9999 0.001"/></equality>'
    )


def pendulum_model(length: float) -> Model:
    """A free point in the plane, connected to the pivot."""

    def xml(step: float) -> str:
        return f"""<mujoco>{_head(step)}<worldbody><body name="b" pos="{length} 0 0">
            <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
            <joint type="hinge" axis="0 -1 0"/>
            <inertial mass="1" pos="0 0 0" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
            </body></worldbody>{_connect(step, f'body1="b" anchor="{-length} 0 0"')}</mujoco>"""

    def to(q, v):
        rate = (q[0] * v[1] - q[1] * v[0]) / length**2
        angle = np.arctan2(q[1], q[0])
        return [q[0] - length, q[1], angle], [v[0], v[1], rate]

    return Model(xml, to, lambda q, v: ([q[0] + length, q[1]], [v[0], v[1]]))


def four_bar_model(parameters: Sequence[float]) -> Model:
    """Crank and coupler as a chain, the rocker apart, their ends connected."""
    m1, m2, m3, stiffness, rest, damping = (float(x) for x in parameters)

    def rod(mass, length):
        inertia = mass * length**2 / 12
        across = f"1e-9 {inertia} {inertia + 1e-9}"
        return f'<inertial mass="{mass}" pos="{length / 2} 0 0" diaginertia="{across}"/>'

    a, b, c = _fourbar.CRANK, _fourbar.COUPLER, _fourbar.ROCKER
    spring = f'stiffness="{stiffness}" springref="{rest}" damping="{damping}"'

    def xml(step: float) -> str:
        return f"""<mujoco>{_head(step)}<worldbody>
            <body><joint type="hinge" axis="0 -1 0" {spring}/>{rod(m1, a)}
            <body pos="{a} 0 0"><joint type="hinge" axis="0 -1 0"/>{rod(m2, b)}
            <site name="s1" pos="{b} 0 0"/></body></body>
            <body pos="{_fourbar.GROUND} 0 0"><joint type="hinge" axis="0 -1 0"/>{rod(m3, c)}
            <site name="s2" pos="{c} 0 0"/></body>
            </worldbody>{_connect(step, 'site1="s1" site2="s2"')}</mujoco>"""

    def to(q, v):
        return [q[0], q[1] - q[0], q[2]], [v[0], v[1] - v[0], v[2]]

    def back(q, v):
        return [q[0], q[1] + q[0], q[2]], [v[0], v[1] + v[0], v[2]]

    return Model(xml, to, back)


class Rollouts:
    """Runs of several models, one after the other; returns coordinates and velocities joined.

    **Arguments:**

    - `models`: each with `q` and `v`, its initial coordinates and velocities.
    - `step`: seconds.
    """

    def __init__(self, models: Sequence[tuple[Model, Any, Any]], t_end: float, step: float):
        mujoco = peer("mujoco")
        self._rollout, self._steps = peer("mujoco.rollout").rollout, round(t_end / step)
        self._backs = [model.back for model, _, _ in models]
        self._models = [mujoco.MjModel.from_xml_string(model.xml(step)) for model, _, _ in models]
        self._data = mujoco.MjData(self._models[0])
        size = mujoco.mj_stateSize(self._models[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self._nq = nq = self._models[0].nq
        self._starts = np.zeros((len(models), size))
        for row, (model, q, v) in zip(self._starts, models, strict=True):
            row[1 : 1 + nq], row[1 + nq : 1 + 2 * nq] = model.to(q, v)

    def __call__(self) -> np.ndarray:
        states, _ = self._rollout(self._models, self._data, self._starts, nstep=self._steps)
        ends = states[:, -1, 1 : 1 + 2 * self._nq]
        pairs = zip(self._backs, ends, strict=True)
        return np.array([np.concatenate(back(x[: self._nq], x[self._nq :])) for back, x in pairs])


class MuJoCo:
    """A pendulum; the setting is the step size as a fraction of the whole time."""

    name = "MuJoCo, connect, RK4"

    def __init__(self, pendulum: Pendulum):
        self._pendulum, self._model = pendulum, pendulum_model(pendulum.length)

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this setting."""
        one = self._pendulum
        return Rollouts([(self._model, one.q0, one.v0)], one.t_end, one.t_end * tolerance)

    def read(self, result: Any) -> Run:
        """What the function returned."""
        return Run(result[0])
