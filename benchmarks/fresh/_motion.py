"""CPU time at an error of 1e-7: values, gradients and batches by the default of `solve`.

Next to what is done by hand with diffrax; values next to solvers outside JAX and to C; gradients of
`Gauss(3)` next to its values.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..adaptive._work_precision import seconds_at
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
HAND = {"Dopri8": diffrax.Dopri8(), "Tsit5": diffrax.Tsit5()}
# Of one mechanism, at an error that loose tolerances reach.
TINY, TINY_ERROR, TINY_TOLERANCES = ("viviani",), 1e-2, (1e-4, 1e-5)
VALUE, BOTH, SAME = "value", "value and gradient", "value, at the same tolerance"
LANE, LANE_BOTH = (f"a lane of {LANES}, {what}" for what in (VALUE, BOTH))
Costs = dict[str, float]


class Cost(NamedTuple):
    """CPU seconds at the error, by what is computed.

    - `ours`, `hand`, `floor`: of the default, by hand and in C. By hand, the better of two solvers
        counts; of a batch, that of the cheaper value, by the better of two ways.
    - `gauss`: by `Gauss(3)`.
    """

    ours: Costs
    hand: Costs
    floor: Costs
    gauss: Costs


class Task(NamedTuple):
    """A mechanism, its start, where it ends, tolerances to try, the error, lanes if any."""

    fresh: Fresh
    start: Any
    goal: np.ndarray
    tolerances: Sequence[float]
    error: float
    lanes: Any


def motion(tiny: bool) -> Iterator[Figure]:
    """All mechanisms, one after the other; then the means."""
    costs = {}
    for name in TINY if tiny else MEMBERS:
        task = _task(MEMBERS[name], tiny)
        cost = costs[name] = _measured(task)
        yield from _of_one(name, cost)
        yield from _of_others(task, cost)
        jax.clear_caches()
    if not tiny:
        yield from _means(costs)


def _task(fresh: Fresh, tiny: bool) -> Task:
    start = fresh.start()
    member, seeded = fresh.of_audit()
    exact = Reference(member).at(seeded)
    goal = np.concatenate([exact.y, exact.z])
    if tiny:
        return Task(fresh, start, goal, TINY_TOLERANCES, TINY_ERROR, None)
    parts = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (LANES, 2)))
    lanes = jnp.tile(start[2], (LANES, 1)).at[:, :2].multiply(1 + SPREAD * parts)
    return Task(fresh, start, goal, TOLERANCES, ERROR, lanes)


def _measured(task: Task) -> Cost:
    own, tolerance = _costs(task, ours(task.fresh))
    hands = {name: _costs(task, by_hand(task.fresh, solver)) for name, solver in HAND.items()}
    hand = {what: min(found[what] for found, _ in hands.values()) for what in own}
    gauss, _ = _costs(task, ours(task.fresh, jaxspark.Gauss(3)))
    if task.lanes is not None:
        own |= _of_lanes(task, ours(task.fresh), tolerance, (jax.vmap,))
        best = min(hands, key=lambda name: hands[name][0][VALUE])
        run = by_hand(task.fresh, HAND[best])
        hand |= _of_lanes(task, run, hands[best][1], (jax.vmap, _one_by_one))
    floor = {}
    if task.fresh.name in _floor.NAMES and _floor.available():
        floor = _of_floor(task, Floor(task.fresh))
    return Cost(own, hand, floor, gauss)


def _one_by_one(function: Program, axes: Any) -> Program:
    """What a batch is on a CPU by one line more."""
    del axes
    return lambda y, z, lanes, tolerance: jax.lax.map(
        lambda args: function(y, z, args, tolerance), lanes
    )


def _costs(task: Task, run: Program) -> tuple[Costs, float]:
    """CPU seconds of a value at the error, and of all else at the tolerance of `loosest`; this."""
    compiled = jax.jit(run)

    def at(tolerance):
        operands = *task.start, jnp.asarray(tolerance)
        return lambda: compiled(*operands)

    points = sweep(at, task.goal, task.tolerances)
    tolerance = loosest(points, task.error)
    slope, operands = jax.jit(differentiated(run)), (*task.start, jnp.asarray(tolerance))
    found = {
        VALUE: seconds_at(points, task.error), SAME: seconds(lambda: compiled(*operands)),
        BOTH: seconds(lambda: slope(*operands)),
    }  # fmt: skip
    return found, tolerance


def _of_lanes(
    task: Task, run: Program, tolerance: float, batches: Sequence[Callable[..., Any]]
) -> Costs:
    """CPU seconds of a lane, by the best of some ways to run them.

    **Raises:** `RuntimeError` if a lane fails.
    """
    y, z, _ = task.start
    operands, found = (y, z, task.lanes, jnp.asarray(tolerance)), {}
    for what, function in ((LANE, run), (LANE_BOTH, differentiated(run))):
        calls = [jax.jit(batch(function, (None, None, 0, None))) for batch in batches]
        found[what] = min(seconds(lambda call=call: call(*operands)) for call in calls) / LANES
        if what == LANE and not np.all(calls[0](*operands)[1]):
            raise RuntimeError(f"{task.fresh.name}: lanes of {run} failed.")
    return found


def _of_floor(task: Task, floor: Floor) -> Costs:
    """What the same costs in C."""
    points = sweep(
        lambda tolerance: lambda: (floor.run(tolerance)[0], True), task.goal, task.tolerances
    )
    found = {VALUE: seconds_at(points, task.error)}
    if task.lanes is not None:
        tolerance = loosest(points, task.error)
        found[LANE] = seconds(lambda: floor.lanes(task.lanes, tolerance)) / LANES
    return found


def _of_one(name: str, cost: Cost) -> Iterator[Figure]:
    for what, own in cost.ours.items():
        hand = cost.hand[what]
        words = f"{1e3 * own:.3f}; {1e3 * hand:.3f}; {hand / own:.2f}"
        yield note(f"{name}: {what}, CPU ms, ours; by hand; ratio", words)
    for what, least in cost.floor.items():
        words = f"{1e3 * least:.4f}; {cost.ours[what] / least:.2f}"
        yield note(f"{name}: {what}, CPU ms of C; ours over it", words)
    words = f"{1e3 * cost.gauss[VALUE]:.3f}; {cost.gauss[BOTH] / cost.gauss[SAME]:.2f}"
    yield note(f"{name}: value by Gauss(3), CPU ms; value and gradient over it", words)


def _of_others(task: Task, cost: Cost) -> Iterator[Figure]:
    for name, runs in outside(task.fresh):
        found = seconds_at(sweep(runs, task.goal, task.tolerances[::2]), task.error)
        words = f"{1e3 * found:.3f}; {found / cost.ours[VALUE]:.2f}"
        yield note(f"{task.fresh.name}: value by {name}, CPU ms; over ours", words)


# Means and worst of ratios, by hand over ours.
TARGETS = {VALUE: (3.0, 1.5), BOTH: (4.0, 2.0), LANE: (3.0, 0.0), LANE_BOTH: (4.0, 0.0)}
OVER_VALUE = {"the default": 3.0, "Gauss(3)": 2.2}
# Ours over C, means.
OVER_FLOOR = {VALUE: 3.0, LANE: 1.5}


def _means(costs: dict[str, Cost]) -> Iterator[Figure]:
    for what, (mean, worst) in TARGETS.items():
        ratios = {name: cost.hand[what] / cost.ours[what] for name, cost in costs.items()}
        least = min(ratios, key=lambda name: ratios[name])
        yield at_least(
            f"{what}, by hand over the default: geometric mean", _mean(ratios.values()), mean
        )
        words = f"{what}, by hand over the default: worst ({least})"
        if worst:
            yield at_least(words, ratios[least], worst)
        else:
            yield note(words, f"{ratios[least]:.2f}")
    for method, most in OVER_VALUE.items():
        found = [cost.gauss if method == "Gauss(3)" else cost.ours for cost in costs.values()]
        over = [own[BOTH] / own[SAME] for own in found]
        what = f"value and gradient over value, {method}"
        yield at_most(f"{what}: geometric mean", _mean(over), most, ".2f")
        yield note(f"{what}: worst", f"{max(over):.2f}")
    for what, most in OVER_FLOOR.items():
        over = [cost.ours[what] / cost.floor[what] for cost in costs.values() if cost.floor]
        if not over:
            yield note(f"{what}, over C", f"skipped: there is no {_floor.COMPILER}")
            continue
        yield at_most(f"{what}, over C: geometric mean", _mean(over), most, ".2f")
        yield note(f"{what}, over C: worst", f"{max(over):.2f}")


def _mean(ratios: Any) -> float:
    """Geometric. Every ratio is finite: `loosest` raises where an error is not reached."""
    return float(np.exp(np.mean(np.log(list(ratios)))))
