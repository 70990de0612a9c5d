"""Motions whose CPU times are measured: robots of files, a platform, and a long chain."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.multibody._spec import simulator

from ._export import mjcf
from ._found import Pair, pair
from ._loops import named_or_sdf, placing, source
from ._stewart import stewart


mujoco: Any = simulator()
TOLERANCES, ERROR = tuple(10.0 ** (-k / 2) for k in range(10, 22)), 1e-7
MOST, FINEST = 16384, 1e-11


class Timed(NamedTuple):
    """A motion, ours and MuJoCo's.

    - `ours`, `y`, `z`: the mechanism and where it starts.
    - `model`: MuJoCo's; `placed`: `placed(y, z)`, our state as MuJoCo's.
    """

    ours: Any
    y: Any
    z: Any
    model: Any
    placed: Callable[..., tuple[np.ndarray, np.ndarray]]

    def end(self, parameters: Any, tolerance: Any, t1: float) -> Any:
        """What is solved with some of the parameters given, up to `t1`."""
        args = self.ours.parameters | parameters
        return jaxspark.solve(
            self.ours.system,
            self.y,
            self.z,
            args,
            t1=t1,
            rtol=tolerance,
            atol=tolerance,
            max_steps=MOST,
        )

    def loosest(self, value: Callable[..., Any], parameters: Any) -> tuple[float, Any]:
        """The loosest tolerance of coordinates at the end to 1e-7, and these coordinates.

        - `value`: `value(parameters, tolerance)`, the coordinates at the end.
        """
        exact, at = value(parameters, jnp.asarray(FINEST)), TOLERANCES[-1]
        for tolerance in reversed(TOLERANCES):
            if np.max(np.abs(value(parameters, jnp.asarray(tolerance)) - exact)) > ERROR:
                break
            at = tolerance
        return at, exact


def of_file(name: str) -> Timed | None:
    """A robot at the file's first keyframe, closed; without one, all joints of an arm bent."""
    path = named_or_sdf(name)
    both = None if path is None else pair(source(path), name)
    return None if both is None else of_pair(both)


def of_pair(both: Pair) -> Timed:
    """Both models of a file."""
    model, ours = both.model, both.ours
    q = model.key_qpos[0] if model.nkey else np.array(model.qpos0)
    rng, v = np.random.default_rng(1), np.zeros(model.nv)
    if model.nq != model.nv:
        v = rng.normal(size=model.nv)
    elif not model.nkey:
        q = np.full(model.nq, 0.5)
    y, z = both.state(q, v)
    if ours.loops.count:
        velocities = jnp.asarray(z)
        y, _ = ours.state(guess={name: y[at] for name, (at, _) in ours._at.items()})
        z = jaxspark.project(ours.system, 0.0, y, velocities, ours.parameters).z

    def placed(y: Any, z: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(y)[both.y], np.asarray(z)[both.z]

    return Timed(ours, jnp.asarray(y), jnp.asarray(z), model, placed)


def platform() -> Timed:
    """Stewart's, whose springs push it."""
    mechanism, (y, z) = stewart()
    model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    return Timed(mechanism, y, z, model, placing(mechanism, model))


def chain(count: int) -> Timed:
    """Hinges about all axes in turn, each turned by 0.3, at rest."""
    text = close = ""
    for k in range(count):
        axis = " ".join(str(int(j == k % 3)) for j in range(3))
        text += (
            f'<body pos="{0.1 if k else 0} 0 0"><joint axis="{axis}" damping=".05"/>'
            '<inertial pos=".05 .01 0" mass=".2" diaginertia="2e-4 3e-4 4e-4"/>'
        )
        close += "</body>"
    text = f"<mujoco><worldbody>{text}{close}</worldbody></mujoco>"
    both = pair(text, f"chain of {count}")
    assert both is not None
    return of_pair(both)._replace(y=jnp.full(count, 0.3))
