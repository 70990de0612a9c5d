"""CPU time of a second of motion to 1e-7, of its gradient, and of the first calls."""

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._figures import at_least, at_most, Figure, note
from ..fresh._work import seconds
from ._beside import beside
from ._found import pair, TINY
from ._timed import chain, ERROR, of_file, of_pair, platform, Timed


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
RATIO, FASTER = 3.5, 10.0
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
    ours, t1 = timed.ours, wanted[3]

    def end(parameters, tolerance):
        found = timed.end(parameters, tolerance, t1)
        return found.y1, found.stats.num_steps

    def gradient(parameters, tolerance):
        return jax.value_and_grad(lambda x: jnp.sum(end(x, tolerance)[0] ** 2))(parameters)

    bodies = {"bodies": ours.parameters["bodies"]}
    value, first = _first(end, bodies)
    tolerance, exact = timed.loosest(lambda *given: value(*given)[0], bodies)
    at = jnp.asarray(tolerance)
    spent = seconds(lambda: value(bodies, at), least)
    reached, steps = value(bodies, at)
    what = f"{name}: {t1:g} s of motion to {ERROR:g}, {int(steps)} steps"
    yield _line(f"{what}: CPU ms", 1e3 * spent, wanted[0])
    yield from _beside_ours(name, timed, reached, exact, spent, t1)
    # A first call finds nothing that was traced before.
    jax.clear_caches()
    slope, first_slope = _first(gradient, bodies)
    both_spent = seconds(lambda: slope(bodies, at), least)
    by = f"{what}: value and gradient by all masses, centres and inertias, over value"
    yield at_most(by, both_spent / spent, RATIO, ".2f")
    for words, found, target in (("value", first, wanted[1]), ("gradient", first_slope, wanted[2])):
        yield _line(f"{name}: first call, {words}, CPU s", found, target)
    jax.clear_caches()
    slope = jax.jit(gradient)
    slope(ours.parameters, at)
    both_spent = seconds(lambda: slope(ours.parameters, at), least)
    by = f"{what}: value and gradient by all parameters, lengths and anchors too, over value"
    yield at_most(by, both_spent / spent, RATIO, ".2f")


def _beside_ours(
    name: str, timed: Timed, reached: Any, exact: Any, spent: float, t1: float
) -> Iterator[Figure]:
    """MuJoCo's C, where its error is at most ours."""
    at_end = timed.placed(exact, timed.z)[0]
    error = max(float(np.max(np.abs(timed.placed(reached, timed.z)[0] - at_end))), 1e-12)
    other = beside(timed.model, *timed.placed(timed.y, timed.z), at_end, t1, ERROR)
    words = f"{1e3 * other.spent:.1f} ms at {other.step:g} s, error {other.error:.1e}"
    yield note(f"{name}: MuJoCo's C, our error {error:.1e}", words)
    times = f"{name}: CPU time of MuJoCo's C over ours, at equal error"
    if timed.ours.loops.count:
        yield at_least(times, other.spent / spent, FASTER, ".1f")
    else:
        yield note(times, f"{other.spent / spent:.1f}")


def _line(what: str, found: float, target: float | None) -> Figure:
    return note(what, f"{found:.2f}") if target is None else at_most(what, found, target, ".2f")


def _first(function: Callable[..., Any], parameters: Any) -> tuple[Callable[..., Any], float]:
    """Compiled, and the CPU seconds that it took with one call."""
    compiled, begun = jax.jit(function), time.process_time()
    jax.block_until_ready(compiled(parameters, jnp.asarray(1e-7)))
    return compiled, time.process_time() - begun
