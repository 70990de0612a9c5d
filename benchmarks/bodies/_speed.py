"""CPU time of a second of motion to 1e-7, of its gradient, and of the first calls."""

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..fresh._work import seconds
from ._beside import beside
from ._found import pair, TINY
from ._timed import chain, of_file, of_pair, platform, Timed


CASSIE = "cassie_v2.sdf"
# Milliseconds, CPU seconds of the first value and of the first gradient, and seconds of motion.
WANTED = {
    "iiwa14.urdf": (3.0, 0.6, 2.2, 1.0),
    "panda_updated_robotiq_2f85.xml": (3.0, 0.9, 4.3, 1.0),
    "humanoid.xml": (7.0, None, None, 1.0),
    CASSIE: (450.0, 2.2, 7.0, 1.0),
    "Stewart platform": (None, None, None, 1.0),
    "chain of 100": (80.0, None, None, 1.0),
}
BUILT = {"Stewart platform": platform, "chain of 100": functools.partial(chain, 100)}
TOLERANCES, ERROR, RATIO = tuple(10.0 ** (-k / 2) for k in range(10, 22)), 1e-7, 3.5
MOST, FASTER, FINEST = 16384, 10.0, 1e-11
# CPU seconds of repetitions: the machine's speed changes within tenths of a second.
LONG = 1.0


def speed(tiny: bool) -> Iterator[Figure]:
    """At the loosest tolerance at which all coordinates at the end are right to 1e-7."""
    if tiny:
        both = pair(TINY, "two bodies")
        assert both is not None
        yield from _measured("two bodies", of_pair(both), (1e3, None, None, 0.05), 0.01)
        return
    for name, wanted in WANTED.items():
        timed = BUILT[name]() if name in BUILT else of_file(name)
        if timed is None:
            yield note(f"{name}: CPU ms", "not found")
            continue
        yield from _measured(name, timed, wanted, LONG)
        jax.clear_caches()


def _measured(name: str, timed: Timed, wanted: tuple[Any, ...], least: float) -> Iterator[Figure]:
    ours, y, z, t1 = timed.ours, timed.y, timed.z, wanted[3]

    def end(bodies, tolerance):
        args = ours.parameters | {"bodies": bodies}
        found = jaxspark.solve(
            ours.system, y, z, args, t1=t1, rtol=tolerance, atol=tolerance, max_steps=MOST
        )
        return found.y1, found.stats.num_steps

    def gradient(bodies, tolerance):
        return jax.value_and_grad(lambda x: jnp.sum(end(x, tolerance)[0] ** 2))(bodies)

    bodies = ours.parameters["bodies"]
    exact = jax.jit(end)(bodies, jnp.asarray(FINEST))[0]
    jax.clear_caches()
    value, first = _first(end, bodies)
    at = jnp.asarray(TOLERANCES[-1])
    for tolerance in reversed(TOLERANCES):
        if np.max(np.abs(value(bodies, jnp.asarray(tolerance))[0] - exact)) > ERROR:
            break
        at = jnp.asarray(tolerance)
    spent = seconds(lambda: value(bodies, at), least)
    reached, steps = value(bodies, at)
    what = f"{name}: {t1:g} s of motion to {ERROR:g}, {int(steps)} steps"
    yield _line(f"{what}: CPU ms", 1e3 * spent, wanted[0])
    at_end = timed.placed(exact, z)[0]
    error = max(float(np.max(np.abs(timed.placed(reached, z)[0] - at_end))), 1e-12)
    other = beside(timed.model, *timed.placed(y, z), at_end, t1, ERROR)
    words = f"{1e3 * other.spent:.1f} ms at {other.step:g} s, error {other.error:.1e}"
    yield note(f"{name}: MuJoCo's C, our error {error:.1e}", words)
    times = f"{name}: CPU time of MuJoCo's C over ours, at equal error"
    target = FASTER if ours.loops.count else None
    yield (
        at_least(times, other.spent / spent, target, ".1f")
        if target
        else note(times, f"{other.spent / spent:.1f}")
    )
    jax.clear_caches()
    slope, first_slope = _first(gradient, bodies)
    both_spent = seconds(lambda: slope(bodies, at), least)
    yield at_most(f"{what}: value and gradient over value", both_spent / spent, RATIO, ".2f")
    for words, found, target in (("value", first, wanted[1]), ("gradient", first_slope, wanted[2])):
        yield _line(f"{name}: first call, {words}, CPU s", found, target)


def _line(what: str, found: float, target: float | None) -> Figure:
    return note(what, f"{found:.2f}") if target is None else at_most(what, found, target, ".2f")


def _first(function: Callable[..., Any], bodies: Any) -> tuple[Callable[..., Any], float]:
    """Compiled, and the CPU seconds that it took with one call."""
    compiled, begun = jax.jit(function), time.process_time()
    jax.block_until_ready(compiled(bodies, jnp.asarray(1e-7)))
    return compiled, time.process_time() - begun
