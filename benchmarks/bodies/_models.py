"""Mass matrices, momenta, forces, energies and poses of real models against MuJoCo."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxspark.multibody._spec import simulator

from .._figures import at_least, at_most, Figure
from ._found import files, Pair, pair, TINY


mujoco: Any = simulator()
STATES, MOST, ENOUGH, ERROR, FLOOR = 3, 120, 25, 1e-10, 1e-6


def models(tiny: bool) -> Iterator[Figure]:
    """Each model in random states; the largest error, relative to the largest entry."""
    count = 0
    sources = [(TINY, "two bodies")] if tiny else [(path, path.name) for path in files()]
    for source, name in sources:
        both = pair(source, name)
        if both is None or count == MOST:
            continue
        count += 1
        errors = _errors(both)
        words = ", ".join(f"{what} {error:.1e}" for what, error in errors.items())
        what = f"{name}, {both.model.nv} velocities: {words}; largest"
        yield at_most(what, max(errors.values()), ERROR)
        jax.clear_caches()
    yield at_least("models", count, 1 if tiny else ENOUGH, "d")


def _errors(both: Pair) -> dict[str, float]:
    model, ours = both.model, both.ours
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    bodies = [model.body(k).name or f"body {k}" for k in range(1, model.nbody)]

    @jax.jit
    def evaluated(y, z, args):
        t, one = jnp.zeros(()), jnp.ones(())
        of = ours.system.accelerations(t, y, z, one, args)
        p, kinetic = ours.system.p(t, y, z, args), ours.energy(y, z, args)[0]
        return of.M, of.h, p, kinetic, ours.pose(bodies[-1], y, args)

    found: dict[str, float] = {}
    for _ in range(STATES):
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        state = both.state(data.qpos, data.qvel)
        M, h, p, kinetic, pose = evaluated(*state, ours.parameters)
        z = both.z
        pairs = {
            "M": (np.asarray(M)[np.ix_(z, z)], full),
            "momentum": (np.asarray(p)[z], full @ data.qvel),
            "forces": (np.asarray(h)[z], data.qfrc_passive - data.qfrc_bias),
            "energy": (np.asarray(kinetic), data.energy[1]),
            "place": (np.asarray(pose)[:3, 3], data.xpos[model.nbody - 1]),
        }
        for what, (mine, theirs) in pairs.items():
            # Of a pendulum without weight the forces are zero.
            size = max(float(np.max(np.abs(theirs))), FLOOR)
            if what == "forces":
                size += float(np.max(np.abs(data.qfrc_passive)))
            error = float(np.max(np.abs(mine - theirs))) / size
            found[what] = max(found.get(what, 0.0), error)
    return found
