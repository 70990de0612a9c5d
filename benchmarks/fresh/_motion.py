"""CPU time at an error of 1e-7, of values, gradients and batches, next to what is done by hand."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from .._figures import at_least, at_most, Figure, note
from ..adaptive._work_precision import Point, seconds_at
from ..audit._reference import Reference, relative
from ._mechanism import Fresh
from ._members import MEMBERS
from ._programs import by_hand, differentiated, ours, Program


ERROR = 1e-7
# From so large ones on that no method reaches the error.
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(4, 21))
LANES, SPREAD = 256, 0.1
LEAST = 0.05  # seconds of repetitions, three at least
HAND = {"Dopri8": diffrax.Dopri8(), "Tsit5": diffrax.Tsit5()}


class Cost(NamedTuple):
    """CPU seconds at the error, of the default and by hand, by what is computed."""

    ours: dict[str, float]
    hand: dict[str, float]


def motion(tiny: bool) -> Iterator[Figure]:
    """All mechanisms, one after the other; then the means."""
    costs = {}
    for name, fresh in list(MEMBERS.items())[: 1 if tiny else None]:
        costs[name] = yield from _one(fresh, tiny)
        jax.clear_caches()
    if not tiny:
        yield from _means(costs)


def _one(fresh: Fresh, tiny: bool) -> Any:
    start = fresh.start()
    member, seeded = fresh.of_audit()
    exact = Reference(member).at(seeded)
    goal = np.concatenate([exact.y, exact.z])
    rng = np.random.default_rng(0)
    lanes = jnp.tile(start[2], (LANES, 1))
    lanes = lanes.at[:, :2].multiply(1 + SPREAD * jnp.asarray(rng.uniform(-1, 1, (LANES, 2))))
    tolerances = TOLERANCES[:3] if tiny else TOLERANCES

    def work(run: Program) -> list[Point]:
        compiled = jax.jit(run).lower(*start, jnp.asarray(1e-6)).compile()
        points = []
        for tolerance in tolerances:
            end, good = compiled(*start, jnp.asarray(tolerance))
            if good:
                error = relative(np.asarray(end), goal)
                seconds = _seconds(compiled, *start, jnp.asarray(tolerance))
                points.append(Point(tolerance, error, seconds, math.nan))
        return points

    own = ours(fresh)
    points = work(own)
    of_ours = {"value": seconds_at(points, ERROR)}
    of_ours |= _more(own, points, start, lanes, tiny)
    hands = {name: by_hand(fresh, solver) for name, solver in HAND.items()}
    swept = {name: work(run) for name, run in hands.items()}
    best = min(swept, key=lambda name: seconds_at(swept[name], ERROR))
    of_hand = {"value": seconds_at(swept[best], ERROR)}
    of_hand |= _more(hands[best], swept[best], start, lanes, tiny)
    for what, seconds in of_ours.items():
        words = f"{1e3 * seconds:.3f}; {1e3 * of_hand[what]:.3f} by {best}"
        ratio = of_hand[what] / seconds
        yield note(f"{fresh.name}: {what}, CPU ms, ours; by hand; ratio", f"{words}; {ratio:.2f}")
    return Cost(of_ours, of_hand)


def _more(run: Program, points: Sequence[Point], start, lanes, tiny: bool) -> dict[str, float]:
    """Gradients and batches at the largest tolerance from which on all errors are small enough."""
    tolerance = points[-1].tolerance
    for point in reversed(points):
        if point.error > ERROR:
            break
        tolerance = point.tolerance
    tolerance = jnp.asarray(tolerance)
    y, z, args = start
    found = {}
    same = next(point.seconds for point in points if point.tolerance == tolerance)
    found["value, at the same tolerance"] = same
    slope = differentiated(run)
    gradient = jax.jit(slope)
    found["value and gradient"] = _seconds(gradient, y, z, args, tolerance)
    for what, function in () if tiny else (("value", run), ("value and gradient", slope)):
        batch = jax.jit(jax.vmap(function, (None, None, 0, None)))
        found[f"a lane of {LANES}, {what}"] = _seconds(batch, y, z, lanes, tolerance) / LANES
    return found


def _seconds(function: Any, *operands: Any) -> float:
    """The least CPU time of several calls, after one that compiles."""
    jax.block_until_ready(function(*operands))
    found, total = [], 0.0
    while len(found) < 3 or total < LEAST:
        begun = time.process_time()
        jax.block_until_ready(function(*operands))
        found.append(time.process_time() - begun)
        total += found[-1]
    return min(found)


# Means and worst of ratios, by hand over ours.
TARGETS = {
    "value": (3.0, 1.5),
    "value and gradient": (4.0, 2.0),
    f"a lane of {LANES}, value": (3.0, 0.0),
    f"a lane of {LANES}, value and gradient": (4.0, 0.0),
}
OVER_VALUE = 3.0


def _means(costs: dict[str, Cost]) -> Iterator[Figure]:
    for what, (mean, worst) in TARGETS.items():
        ratios = {name: cost.hand[what] / cost.ours[what] for name, cost in costs.items()}
        of_all = float(np.exp(np.mean(np.log(list(ratios.values())))))
        least = min(ratios, key=lambda name: ratios[name])
        yield at_least(f"{what}, by hand over the default: geometric mean", of_all, mean)
        words = f"{what}, by hand over the default: worst ({least})"
        if worst:
            yield at_least(words, ratios[least], worst)
        else:
            yield note(words, f"{ratios[least]:.2f}")
    both = "value and gradient", "value, at the same tolerance"
    over = [cost.ours[both[0]] / cost.ours[both[1]] for cost in costs.values()]
    mean = float(np.exp(np.mean(np.log(over))))
    yield at_most("value and gradient over value: geometric mean", mean, OVER_VALUE, ".2f")
    yield note("value and gradient over value: worst", f"{max(over):.2f}")
