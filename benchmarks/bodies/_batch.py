"""A batch of gradients of a motion by all inertial parameters, and MJX's."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxspark.multibody._spec import simulator

from .._figures import at_least, at_most, Figure, note
from ._beside import beside
from ._found import pair, TINY
from ._timed import ERROR, of_file, of_pair, Timed


mujoco: Any = simulator()
ARM, LANES, FASTER = "iiwa14.urdf", 1024, 10.0
# MJX takes thousands of equal steps a second, each as long as the others: the first ones tell.
FIRST = 4
MASSES = ("body_mass", "body_inertia", "body_ipos", "body_iquat")


def batch(tiny: bool) -> Iterator[Figure]:
    """Lanes differ by a factor of all masses; both step all lanes side by side, on all cores."""
    both = pair(TINY, "two bodies") if tiny else None
    timed = of_file(ARM) if both is None else of_pair(both)
    lanes, t1 = (2, 0.05) if tiny else (LANES, 1.0)
    if timed is None:
        yield note(f"{ARM}: a batch of gradients", "not found")
        return
    factors, what = jnp.linspace(1.0, 1.1, lanes), f"{lanes} gradients of {t1:g} s of motion"
    spent, exact = _ours(timed, factors, t1)
    yield note(f"{what} to {ERROR:g}: CPU s", f"{spent:.2f}")
    jax.clear_caches()
    try:
        from mujoco import mjx
    except ImportError:
        yield note(f"{what}: CPU time of MJX over ours", "without mujoco-mjx")
        return
    step = beside(timed.model, *timed.placed(timed.y, timed.z), exact, t1, ERROR).step
    other, apart = _mjx(mjx, timed, factors, step)
    gained = f"velocities gained by MJX and MuJoCo's C in {FIRST} steps, relative difference"
    yield at_most(gained, apart, 1e-9)
    other *= t1 / step / FIRST
    yield note(f"{what} by MJX at {step:g} s, of the first {FIRST} steps: CPU s", f"{other:.0f}")
    yield at_least(
        f"{what}: CPU time of MJX over ours, at equal error", other / spent, FASTER, ".1f"
    )


def _ours(timed: Timed, factors: Any, t1: float) -> tuple[float, Any]:
    """CPU seconds at the loosest tolerance, and where MuJoCo's coordinates end."""
    bodies = {"bodies": timed.ours.parameters["bodies"]}
    value = jax.jit(lambda given, tolerance: timed.end(given, tolerance, t1).y1)
    tolerance, exact = timed.loosest(value, bodies)

    def lane(given, factor):
        scaled = jax.tree.map(lambda x: factor * x, given)
        return jnp.sum(timed.end(scaled, tolerance, t1).y1 ** 2)

    return _spent(lane, bodies, factors), timed.placed(exact, timed.z)[0]


def _mjx(mjx: Any, timed: Timed, factors: Any, step: float) -> tuple[float, float]:
    """CPU seconds of a few steps, and how far velocities gained are from those of MuJoCo's C."""
    model = timed.model
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    data = mujoco.MjData(model)
    q, v = timed.placed(timed.y, timed.z)
    data.qpos[:], data.qvel[:] = q, v
    there, start = mjx.put_model(model), mjx.put_data(model, data)
    mujoco.mj_step(model, data, FIRST)

    def end(given):
        # Without it, every array of every stage would be kept.
        one = jax.checkpoint(lambda state, _: (mjx.step(there.replace(**given), state), None))
        return jax.lax.scan(one, start, length=FIRST)[0]

    def lane(given, factor):
        return jnp.sum(end(jax.tree.map(lambda x: factor * x, given)).qpos ** 2)

    given = {name: getattr(there, name) for name in MASSES}
    reached, gained = np.asarray(jax.jit(end)(given).qvel), data.qvel - v
    apart = float(np.max(np.abs(reached - v - gained)) / np.max(np.abs(gained)))
    return _spent(lane, given, factors), apart


def _spent(lane: Callable[..., Any], given: Any, factors: Any) -> float:
    gradients = jax.jit(jax.vmap(jax.value_and_grad(lane), (None, 0)))
    jax.block_until_ready(gradients(given, factors))
    begun = time.process_time()
    jax.block_until_ready(gradients(given, factors))
    return time.process_time() - begun
