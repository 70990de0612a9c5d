"""CPU time at an error of 1e-7, of values, gradients and batches, next to what is done by hand."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..adaptive._work_precision import Point, seconds_at
from ..audit._reference import Reference
from . import _floor
from ._floor import Floor
from ._mechanism import Fresh
from ._members import MEMBERS
from ._outside import outside
from ._programs import by_hand, differentiated, ours, Program
from ._work import loosest, seconds, sweep


ERROR = 1e-7
# From so large ones on that no method reaches the error.
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(4, 21))
LANES, SPREAD = 256, 0.1
TINY = ("viviani",)
SAME, BOTH = "value, at the same tolerance", "value and gradient"
HAND = {"Dopri8": diffrax.Dopri8(), "Tsit5": diffrax.Tsit5()}


class Cost(NamedTuple):
    """CPU seconds at the error, by what is computed.

    - `ours`, `hand`, `floor`: of the default, by hand and in C.
    - `gauss`: the cost of a value and gradient over that of the value, by `Gauss(3)`.
    """

    ours: dict[str, float]
    hand: dict[str, float]
    floor: dict[str, float]
    gauss: float


def motion(tiny: bool) -> Iterator[Figure]:
    """All mechanisms, one after the other; then the means."""
    costs = {}
    chosen = {name: MEMBERS[name] for name in TINY} if tiny else MEMBERS
    for name, fresh in chosen.items():
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
    lanes = None if tiny else lanes
    tolerances = TOLERANCES[:3] if tiny else TOLERANCES

    def work(run: Program) -> list[Point]:
        compiled = jax.jit(run).lower(*start, jnp.asarray(1e-6)).compile()
        return sweep(lambda tolerance: compiled(*start, jnp.asarray(tolerance)), goal, tolerances)

    own = ours(fresh)
    points = work(own)
    of_ours = {"value": seconds_at(points, ERROR)}
    of_ours |= _costs(own, points, start, lanes)
    hands = {name: by_hand(fresh, solver) for name, solver in HAND.items()}
    swept = {name: work(run) for name, run in hands.items()}
    best = min(swept, key=lambda name: seconds_at(swept[name], ERROR))
    of_hand = {"value": seconds_at(swept[best], ERROR)}
    of_hand |= _costs(hands[best], swept[best], start, lanes)
    for what, own_seconds in of_ours.items():
        words = f"{1e3 * own_seconds:.3f}; {1e3 * of_hand[what]:.3f} by {best}"
        ratio = of_hand[what] / own_seconds
        yield note(f"{fresh.name}: {what}, CPU ms, ours; by hand; ratio", f"{words}; {ratio:.2f}")
    for name, run in outside(fresh):
        found = seconds_at(sweep(run, goal, tolerances), ERROR)
        words = f"{1e3 * found:.3f}; {found / of_ours['value']:.2f}"
        yield note(f"{fresh.name}: value by {name}, CPU ms; over ours", words)
    of_floor = {}
    if fresh.name in _floor.NAMES and _floor.available():
        of_floor = _of_floor(Floor(fresh), goal, lanes, tolerances)
        for what, least in of_floor.items():
            words = f"{1e3 * least:.4f}; {of_ours[what] / least:.2f}"
            yield note(f"{fresh.name}: {what}, CPU ms of C; ours over it", words)
    gauss = _costs(ours(fresh, jaxspark.Gauss(3)), (), start, None)
    over = gauss[BOTH] / gauss[SAME]
    yield note(f"{fresh.name}: value and gradient over value, Gauss(3)", f"{over:.2f}")
    return Cost(of_ours, of_hand, of_floor, over)


def _of_floor(
    floor: Floor, goal: np.ndarray, lanes: Any, tolerances: Sequence[float]
) -> dict[str, float]:
    """What the same costs in C, of a batch, too, if there is one."""
    points = sweep(lambda tolerance: (floor.run(tolerance)[0], True), goal, tolerances)
    found = {"value": seconds_at(points, ERROR)}
    if lanes is not None:
        tolerance = loosest(points, ERROR)
        found[f"a lane of {LANES}, value"] = seconds(lambda: floor.lanes(lanes, tolerance)) / LANES
    return found


def _costs(run: Program, points: Sequence[Point], start: Any, lanes: Any) -> dict[str, float]:
    """Of values and gradients, of a batch, too, if there is one.

    At the largest tolerance from which on all errors are small enough, or without points at one as
    large as the error.
    """
    tolerance = jnp.asarray(loosest(points, ERROR) if points else ERROR)
    y, z, args = start

    def cost(function: Callable[..., Any], args: Any) -> float:
        compiled = jax.jit(function)
        return seconds(lambda: compiled(y, z, args, tolerance))

    functions = {"value": run, BOTH: differentiated(run)}
    found = {
        SAME: cost(run, args),
        "value and gradient": cost(functions["value and gradient"], args),
    }
    for what, function in functions.items() if lanes is not None else ():
        batch = jax.vmap(function, (None, None, 0, None))
        found[f"a lane of {LANES}, {what}"] = cost(batch, lanes) / LANES
    return found


# Means and worst of ratios, by hand over ours.
TARGETS = {
    "value": (3.0, 1.5),
    "value and gradient": (4.0, 2.0),
    f"a lane of {LANES}, value": (3.0, 0.0),
    f"a lane of {LANES}, value and gradient": (4.0, 0.0),
}
OVER_VALUE = {"the default": 3.0, "Gauss(3)": 2.2}
# Ours over C, means.
OVER_FLOOR = {"value": 3.0, f"a lane of {LANES}, value": 1.5}


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
    over = {
        "the default": [cost.ours[BOTH] / cost.ours[SAME] for cost in costs.values()],
        "Gauss(3)": [cost.gauss for cost in costs.values()],
    }
    for method, most in OVER_VALUE.items():
        what = f"value and gradient over value, {method}"
        mean = float(np.exp(np.mean(np.log(over[method]))))
        yield at_most(f"{what}: geometric mean", mean, most, ".2f")
        yield note(f"{what}: worst", f"{max(over[method]):.2f}")
    for what, most in OVER_FLOOR.items():
        over = [cost.ours[what] / cost.floor[what] for cost in costs.values() if cost.floor]
        if not over:
            yield note(f"{what}, over C", f"skipped: there is no {_floor.COMPILER}")
            continue
        mean = float(np.exp(np.mean(np.log(over))))
        yield at_most(f"{what}, over C: geometric mean", mean, most, ".2f")
        yield note(f"{what}, over C: worst", f"{max(over):.2f}")
