"""CPU time of a second of motion to 1e-7, of its gradient, and of the first calls."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ..fresh._work import seconds
from ._found import named, Pair, pair, TINY


# The file, milliseconds, CPU seconds of the first value and of the first gradient, if any.
WANTED = {
    "iiwa14.urdf": (3.0, 0.6, 2.2),
    "panda_updated_robotiq_2f85.xml": (3.0, 0.9, 4.3),
    "humanoid.xml": (7.0, None, None),
}
TOLERANCES, ERROR, RATIO = tuple(10.0 ** (-k / 2) for k in range(10, 23)), 1e-7, 3.5
MOST = 16384


def speed(tiny: bool) -> Iterator[Figure]:
    """At the loosest tolerance at which all coordinates at the end are right to 1e-7."""
    if tiny:
        both = pair(TINY, "two bodies")
        assert both is not None
        yield from _measured(both, (1e3, None, None), 0.05)
        return
    for name, wanted in WANTED.items():
        path = named(name)
        both = None if path is None else pair(path, name)
        if both is None:
            yield note(f"{name}: CPU ms", "not found")
            continue
        yield from _measured(both, wanted, 1.0)
        jax.clear_caches()


def _measured(both: Pair, wanted: tuple[Any, ...], t1: float) -> Iterator[Figure]:
    ours = both.ours
    y, z = _start(both)

    def end(bodies, tolerance):
        args = ours.parameters | {"bodies": bodies}
        found = jaxspark.solve(
            ours.system, y, z, args, t1=t1, rtol=tolerance, atol=tolerance, max_steps=MOST
        )
        return found.y1, found.stats.num_steps

    def gradient(bodies, tolerance):
        return jax.value_and_grad(lambda x: jnp.sum(end(x, tolerance)[0] ** 2))(bodies)

    bodies = ours.parameters["bodies"]
    exact = jax.jit(end)(bodies, jnp.asarray(1e-12))[0]
    jax.clear_caches()
    value, first = _first(end, bodies)
    at = jnp.asarray(TOLERANCES[-1])
    for tolerance in reversed(TOLERANCES):
        if np.max(np.abs(value(bodies, jnp.asarray(tolerance))[0] - exact)) > ERROR:
            break
        at = jnp.asarray(tolerance)
    spent = seconds(lambda: value(bodies, at))
    steps = int(value(bodies, at)[1])
    what = f"{both.name}: {t1:g} s of motion to {ERROR:g}, {steps} steps"
    yield at_most(f"{what}: CPU ms", 1e3 * spent, wanted[0], ".2f")
    jax.clear_caches()
    slope, first_slope = _first(gradient, bodies)
    both_spent = seconds(lambda: slope(bodies, at))
    yield at_most(f"{what}: value and gradient over value", both_spent / spent, RATIO, ".2f")
    for words, found, target in (("value", first, wanted[1]), ("gradient", first_slope, wanted[2])):
        line = f"{both.name}: first call, {words}, CPU s"
        yield note(line, f"{found:.2f}") if target is None else at_most(line, found, target, ".2f")


def _first(function: Callable[..., Any], bodies: Any) -> tuple[Callable[..., Any], float]:
    """Compiled, and the CPU seconds that it took with one call."""
    compiled, begun = jax.jit(function), time.process_time()
    jax.block_until_ready(compiled(bodies, jnp.asarray(1e-7)))
    return compiled, time.process_time() - begun


def _start(both: Pair) -> tuple[jnp.ndarray, jnp.ndarray]:
    """The file's first keyframe, closed; without one, all joints of an arm bent."""
    model, ours = both.model, both.ours
    q = model.key_qpos[0] if model.nkey else np.array(model.qpos0)
    rng, v = np.random.default_rng(1), np.zeros(model.nv)
    if model.nq != model.nv:
        v = rng.normal(size=model.nv)
    elif not model.nkey:
        q = np.full(model.nq, 0.5)
    y, z = both.state(q, v)
    if ours.loops.count:
        return ours.state(guess={name: y[at] for name, (at, _) in ours._at.items()})
    return jnp.asarray(y), jnp.asarray(z)
