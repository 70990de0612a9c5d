"""Doubts about measured samples by themselves: gaps, outliers, clipping, stuck sensors, wraps."""

from collections.abc import Iterator

import numpy as np
import scipy.ndimage
from jaxtyping import Float

from ._record import Record
from ._remarks import Remark


# Intervals so many times the median one are gaps.
GAP = 5.0
# Samples so many standard deviations off the median of their neighbours are outliers.
OUTLIER = 12.0
# Shares of samples at one extreme value, and in one run of equal values, and the fewest.
CLIPPED, STUCK, FEWEST = 0.02, 0.05, 8
# Units of channels that may wrap.
ANGLES = ("rad", "radian", "radians", "deg", "degree", "degrees", "°")


def data_remarks(record: Record) -> Iterator[Remark]:
    """What looks wrong in one record, without any model."""
    yield from _gaps(record)
    for name, values in record.channels.items():
        there = np.isfinite(values)
        if there.sum() < FEWEST:
            continue
        about = f"{record.name}, {name}"
        x, t = values[there], record.times[there]
        unit = record.units.get(name, "")
        wraps = [] if unit and unit not in ANGLES else list(_wraps(about, t, x, unit))
        yield from wraps
        yield from _clipped(about, x)
        yield from _stuck(about, t, x)
        if not wraps:
            yield from _outliers(about, t, x)


def _gaps(record: Record) -> Iterator[Remark]:
    gaps = np.diff(record.times)
    typical = float(np.median(gaps))
    long = np.flatnonzero(gaps > GAP * typical)
    if long.size and long.size <= max(1, 0.02 * gaps.size):
        k = long[np.argmax(gaps[long])]
        yield Remark(
            "doubtful",
            record.name,
            f"{long.size} gap{'s' if long.size > 1 else ''}; the longest is {gaps[k]:.3g} s, after "
            f"{record.times[k]:g} s, where "
            f"samples are usually {typical:.3g} s apart.",
            "If the clock stopped, cut the record there (Record.window).",
        )


def _wraps(
    about: str, t: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], given: str
) -> Iterator[Remark]:
    for turn, unit in ((2 * np.pi, "rad"), (360.0, "degrees")):
        jumps = np.diff(x)
        near = np.flatnonzero(np.abs(np.abs(jumps) - turn) < 0.15 * turn)
        others = np.delete(jumps, near)
        steady = np.abs(others).max(initial=0)
        # Without the turn the signal goes on as it does elsewhere.
        rest = np.abs(jumps[near] - turn * np.sign(jumps[near])).max(initial=0)
        goes_on = steady < 0.3 * turn and rest <= 2 * steady
        if near.size and np.ptp(x) <= 1.02 * turn and goes_on:
            yield Remark(
                "wrong" if given else "doubtful",
                about,
                f"it jumps by a turn ({unit}) {near.size} times, first at {t[near[0] + 1]:g} s.",
                "Unwrap it: Record.unwrapped, with period=360 for degrees.",
            )
            return


def _clipped(about: str, x: Float[np.ndarray, " n"]) -> Iterator[Remark]:
    for what, value in (("largest", x.max()), ("smallest", x.min())):
        at = x == value
        runs = _longest_run(at)
        often = at.mean() > CLIPPED and at.sum() >= FEWEST and runs >= 3
        if often and np.unique(x).size > 20 and _cut_off(x, at):
            yield Remark(
                # A force that pushes only is zero for long, too.
                "wrong" if value else "doubtful",
                about,
                f"{at.mean():.0%} of the samples have its {what} value, {value:g}: the sensor may "
                "be saturated.",
                "Make these samples NaN (missing), or cut the record.",
            )


def _cut_off(x: Float[np.ndarray, " n"], at: np.ndarray) -> bool:
    """Whether the signal runs into its extreme value at full speed, and not in small steps.

    What is at rest, or has the resolution of a coarse sensor, comes there slowly.
    """
    steps = np.abs(np.diff(x))
    entries = steps[at[1:] & ~at[:-1]]
    moving = steps[steps > 0]
    return bool(
        entries.size
        and np.median(entries) > 0.2 * np.median(moving)
        and np.median(entries) > 2.5 * moving.min()
    )


def _stuck(about: str, t: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"]) -> Iterator[Remark]:
    same = np.concatenate([[False], np.diff(x) == 0])
    longest = _longest_run(same)
    if (
        longest > max(STUCK * x.size, FEWEST)
        and np.ptp(x) > 0
        and 0.0 != np.median(np.abs(np.diff(x)))
    ):
        end = int(np.argmax(_runs(same)))
        if end - longest == 0 or end == x.size - 1:
            # At rest, before it is let go or after it has come to rest.
            return
        yield Remark(
            "doubtful",
            about,
            f"it does not change in {longest} samples, from {t[end - longest]:g} s to "
            f"{t[end]:g} s, though it does elsewhere.",
            "If the sensor hung, make these samples NaN (missing).",
        )


def _outliers(
    about: str, t: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"]
) -> Iterator[Remark]:
    if x.size < 25:
        return
    # What is left of each sample of what its neighbours on both sides say.
    off = x - scipy.ndimage.median_filter(x, size=5, mode="nearest")
    second = np.abs(np.diff(x, 2, prepend=x[:1], append=x[-1:]))
    typical = 1.4826 * np.median(second) + 1e-12 * np.abs(x).max()
    # A spike is far off, alone, and steeper than anything around it.
    around = scipy.ndimage.median_filter(second, size=21, mode="nearest") + typical
    steps, gaps = np.diff(x), np.diff(t)
    local = scipy.ndimage.median_filter(np.abs(steps), size=21, mode="nearest") + typical
    before, after = np.append(0.0, steps), -np.append(steps, 0.0)
    alone = (before * after > 0) & (
        np.minimum(np.abs(before), np.abs(after)) > OUTLIER * np.append(local, local[-1])
    )
    # Beside a gap neighbours tell nothing.
    near = np.maximum(np.append(gaps[0], gaps), np.append(gaps, gaps[-1])) < 1.5 * np.median(gaps)
    spikes = np.flatnonzero((np.abs(off) > OUTLIER * around) & alone & near)
    if 0 < spikes.size <= 0.02 * x.size + 1:
        k = int(spikes[np.argmax(np.abs(off[spikes]))])
        yield Remark(
            "doubtful",
            about,
            f"{spikes.size} sample{'s lie' if spikes.size > 1 else ' lies'} far off, the worst at "
            f"{t[k]:g} s by {off[k]:.3g}.",
            "Make them NaN (missing), or use a robust loss, fit.Huber().",
        )


def _runs(same: np.ndarray) -> np.ndarray:
    """How long the run of true values is that ends at each."""
    count = np.arange(1, same.size + 1)
    breaks = np.maximum.accumulate(np.where(same, 0, count))
    return count - breaks


def _longest_run(same: np.ndarray) -> int:
    return int(_runs(same).max(initial=0))
