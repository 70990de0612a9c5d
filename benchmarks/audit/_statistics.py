"""What many outcomes come to: quantiles of error over tolerance, slopes, failures, the worst."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from .._figures import at_most, Figure, note
from ._cells import Outcome
from ._methods import METHODS


ROUNDING = 1e-13  # smaller errors tell nothing about a slope
MEDIAN, HIGH, HIGHEST = (0.05, 3.0), 10.0, 100.0
OF_EXPLICIT = (0.05, 10.0)


def summary(outcomes: Sequence[Outcome], worst: int) -> Iterator[Figure]:
    """The figures of each method, and the runs of the largest errors by name."""
    by_method = defaultdict(list)
    for outcome in outcomes:
        by_method[outcome.method].append(outcome)
    for method, own in by_method.items():
        yield from _of_method(method, own)
    good = sorted((x for x in outcomes if x.good), key=lambda x: -x.error)
    for place, outcome in enumerate(good[:worst], 1):
        yield note(f"largest error over tolerance, no. {place}", outcome.words())
    for outcome in outcomes:
        if outcome.outcome == "failed":
            yield note("failed", outcome.words())


def by_mechanism(outcomes: Sequence[Outcome]) -> Figure:
    """The largest error over tolerance of each method on one mechanism, and what went wrong."""
    words = []
    for method in dict.fromkeys(outcome.method for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.method == method]
        errors = [outcome.error for outcome in own if outcome.good]
        others = Counter(outcome.outcome for outcome in own if not outcome.good)
        told = [f"{max(errors):.2g}"] if errors else []
        words.append(" ".join([method, *told, *(f"({n} {name})" for name, n in others.items())]))
    what = f"{outcomes[0].mechanism}: largest error over tolerance"
    return note(what, ", ".join(words))


def _of_method(method: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    counts = Counter(outcome.outcome for outcome in outcomes)
    good = [outcome for outcome in outcomes if outcome.good]
    told = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    yield note(f"{method}: {len(outcomes)} runs", told)
    if not good:
        return
    errors = np.array([outcome.error for outcome in good])
    what = f"{method}: error over tolerance, y and z"
    yield _between(f"{what}, median", float(np.median(errors)), *_median_range(method))
    yield at_most(f"{what}, 99 %", float(np.quantile(errors, 0.99)), HIGH, ".3g")
    yield at_most(f"{what}, largest", float(errors.max()), HIGHEST, ".3g")
    reactions = [outcome.reactions for outcome in good]
    quantiles = ", ".join(f"{x:.3g}" for x in np.quantile(reactions, [0.5, 0.99, 1.0]))
    yield note(f"{method}: the same of multipliers, median, 99 %, largest", quantiles)
    yield note(f"{method}: slope of the error over the tolerance, median", f"{_slope(good):.2f}")
    steps = sum(outcome.accepted for outcome in good), sum(outcome.rejected for outcome in good)
    yield note(f"{method}: steps accepted and rejected, all runs", f"{steps[0]}+{steps[1]}")


def _median_range(method: str) -> tuple[float, float]:
    return OF_EXPLICIT if METHODS[method].explicit else MEDIAN


def _between(what: str, value: float, low: float, high: float) -> Figure:
    return Figure(what, f"{low:g} .. {high:g}", f"{value:.3g}", bool(low <= value <= high))


def _slope(outcomes: Sequence[Outcome]) -> float:
    """The median over starts of the least-squares slope of log error over log tolerance."""
    by_start: dict[tuple[str, int], dict[float, float]] = defaultdict(dict)
    for outcome in outcomes:
        error = outcome.error * outcome.tolerance
        if error > ROUNDING:
            by_start[outcome.mechanism, outcome.seed][outcome.tolerance] = error
    slopes = [
        np.polyfit(*np.log(np.array(list(points.items()))).T, 1)[0]
        for points in by_start.values() if len(points) > 1
    ]  # fmt: skip
    return float(np.median(slopes)) if slopes else float("nan")
