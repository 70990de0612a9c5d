"""Estimates of global errors next to the true ones, on the mechanisms of the audit."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, Figure, note
from ..audit._cells import KNOWN, Known, known_ends
from ..audit._mechanism import Mechanism
from ..audit._members import MECHANISMS
from ..audit._methods import Method, METHODS
from ..audit._workers import fast_compilation, workers


TOLERANCES = (1e-4, 1e-6, 1e-8)
CHOSEN = ("DOP853", "Tsit5", "Gauss(2)", "Gauss(3)", "RadauIIA(3)", "Lobatto(4)")
MAX_STEPS = 20_000
CLOSE, FAIR = (0.3, 3.0), (0.1, 10.0)
SHARES = {CLOSE: 0.9, FAIR: 0.99}
# Of the state, in rounding errors: true errors below are not those of a method.
ROUNDING = 1e3


class Judged(NamedTuple):
    """One run in words, its true error, and the estimate of it."""

    words: str
    true: float
    estimate: float


def error(tiny: bool) -> Iterator[Figure]:
    """Greatest entries of `|error| / (1 + |exact|)` at the end, estimated over true.

    Runs that fail are not judged, nor those whose reference is not known well enough, or whose
    error is of the size of rounding errors.
    """
    if tiny:
        found = _of_mechanism(("pendulum", CHOSEN[:1], TOLERANCES[:2], 1))
        yield note("pendulum: estimate over true error", f"{found[0].estimate / found[0].true:.2f}")
        return
    found: list[Judged] = []
    with fast_compilation(), workers() as pool:
        tasks = [(name, CHOSEN, TOLERANCES, 2) for name in MECHANISMS]
        for task, own in zip(tasks, pool.map(_of_mechanism, tasks)):
            found += own
            ratios = np.array([x.estimate / x.true for x in own])
            spread = (np.median(ratios), ratios.min(), ratios.max()) if own else ()
            what = f"{task[0]}: estimate over error, median, least and greatest of {len(own)}"
            yield note(what, ", ".join(f"{x:.2f}" for x in spread))
    yield from _summary(found)


def _summary(found: list[Judged]) -> Iterator[Figure]:
    ratios = np.array([x.estimate / x.true for x in found])
    for (low, high), share in SHARES.items():
        inside = np.mean((ratios >= low) & (ratios <= high))
        what = f"share of {len(found)} runs whose estimate is {low:g} to {high:g} of the error"
        yield at_least(what, float(inside), share, ".4f")
    order = np.argsort(np.abs(np.log(ratios)))[::-1]
    for i in order[:10]:
        yield note(f"far off: {found[i].words}", f"{ratios[i]:.3g}")


def _of_mechanism(task: tuple[str, tuple[str, ...], tuple[float, ...], int]) -> list[Judged]:
    name, methods, tolerances, starts = task
    mechanism = MECHANISMS[name]
    ends = known_ends(mechanism, range(starts))
    found = []
    for method in (METHODS[x] for x in methods):
        if method.suits(mechanism):
            found += _judged(mechanism, method, ends, tolerances)
    jax.clear_caches()
    return found


def _judged(
    mechanism: Mechanism, method: Method, ends: list[Known], tolerances: tuple[float, ...]
) -> Iterator[Judged]:
    @jax.jit
    def run(y, z, args, tolerance):
        solution = jaxspark.solve(
            mechanism.system, y, z, args, method=method.method, t1=mechanism.t1, rtol=tolerance,
            atol=tolerance, max_steps=MAX_STEPS, global_error=True, throw=False,
        )  # fmt: skip
        assert solution.error is not None
        state = jnp.concatenate([solution.y1, solution.z1])
        wrong = jnp.concatenate([solution.error.y1, solution.error.z1])
        return state, wrong, solution.successful

    for seed, start, end in ends:
        exact = np.concatenate([end.y, end.z])
        for tolerance in tolerances:
            state, wrong, good = (
                np.asarray(x) for x in run(start.y, start.z, start.args, tolerance)
            )
            true = float(np.max(np.abs(state - exact) / (1 + np.abs(exact))))
            least = ROUNDING * np.finfo(float).eps
            if not good or not end.error <= KNOWN * true or true < least:
                continue
            estimate = float(np.max(np.abs(wrong) / (1 + np.abs(exact))))
            words = f"{mechanism.name}, start {seed}, {method.name}, {tolerance:g}"
            yield Judged(words, true, estimate)
