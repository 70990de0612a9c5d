"""Real models, in packages or in folders, as MuJoCo's and as ours."""

import contextlib
import importlib.util
import os
import pathlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxspark import multibody
from jaxspark.multibody._refused import refused
from jaxspark.multibody._spec import compiled, simulator


PACKAGES = ("dm_control", "frax", "gymnasium", "mujoco_playground", "cmeel")
# In the repository there is none: the smoke test has this.
TINY = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/>
<inertial pos=".1 0 .2" mass="1" diaginertia=".1 .1 .1"/><body pos="0 0 .5"><joint name="b"
axis="1 0 0"/><inertial pos="0 .1 .1" mass="1" diaginertia=".1 .1 .1"/></body></body></worldbody>
</mujoco>"""


class Pair(NamedTuple):
    """A model of MuJoCo's, and ours.

    - `name`: of the file.
    - `y`, `z`: where MuJoCo's coordinates and velocities are in ours.
    """

    name: str
    model: Any
    ours: multibody.Mechanism
    y: np.ndarray
    z: np.ndarray

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's state as ours."""
        y, z = np.zeros(len(q)), np.zeros(len(v))
        y[self.y], z[self.z] = q, v
        return y, z


def files(suffixes: Iterable[str] = (".xml", ".urdf")) -> Iterator[pathlib.Path]:
    """All MJCF and URDF files that can be found, or those with other suffixes."""
    folders = [pathlib.Path(x) for x in os.environ.get("JAXSPARK_MODELS", "").split(":") if x]
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        folders += (
            [pathlib.Path(x) for x in (spec.submodule_search_locations or ())] if spec else []
        )
    for folder in folders:
        yield from sorted(path for suffix in suffixes for path in folder.rglob(f"*{suffix}"))


def named(name: str) -> pathlib.Path | None:
    """The first file of this name, or `None`."""
    return next((path for path in files() if path.name == name), None)


def pair(source: Any, name: str) -> Pair | None:
    """Both models without what is not kept; `None` if MuJoCo cannot compile the file."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):
            warnings.simplefilter("ignore")
            model = compiled(source, without_meshes=True)
    except ValueError:
        return None
    if not model.nv:
        return None
    # MuJoCo takes centres of mass for the origins of bodies that are this near to them.
    model.body_ipos[model.body_sameframe == simulator().mjtSameFrame.mjSAMEFRAME_BODY] = 0
    ignore = {what for what, names in refused(model).items() if names} | {"actuators"}
    ours = multibody.load(model, ignore=ignore)
    mujoco = simulator()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= (
        off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_ACTUATION
    )
    model.body_gravcomp[:], model.opt.density, model.opt.viscosity = 0, 0, 0
    model.tendon_stiffness[:], model.tendon_damping[:] = 0, 0
    y, z = np.zeros(model.nq, int), np.zeros(model.nv, int)
    for number in range(model.njnt):
        of_y, of_z = ours._at[model.joint(number).name or f"joint {number}"]
        first, second = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
        y[first : first + len(of_y)], z[second : second + len(of_z)] = of_y, of_z
    return Pair(name, model, ours, y, z)
