"""Doubts about samples beside the model where it starts: units, signs, rates, horizons."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from ._first_samples import slopes_of_sensors
from ._problem import Problem
from ._record import Record
from ._remarks import Remark


# How near to a factor a ratio must be to suggest it, and which factors units have.
NEAR = 0.15
FACTORS = {np.rad2deg(1): "degrees for rad", np.deg2rad(1): "rad for degrees", 1e3: "mm for m",
           1e-3: "m for mm", 9.81: "g for m/s^2", 1 / 9.81: "m/s^2 for g"}  # fmt: skip
# Rates are told to be such if they explain so much of the derivative of an angle.
EXPLAINED = 0.8
# A start known as well as its sensors are noisy must not be blown up to this share of the motion.
BLOWN = 0.3


def rate_remarks(problem: Problem, records: list[Record]) -> Iterator[Remark]:
    """Channels of which the model says that one is the derivative of the other."""
    for angle, rate in slopes_of_sensors(problem):
        for record in records:
            if angle not in record.channels or rate not in record.channels:
                continue
            x, w, t = record.channels[angle], record.channels[rate], record.times
            there = np.isfinite(x) & np.isfinite(w)
            if there.sum() < 20:
                continue
            slope, own = np.gradient(x[there], t[there]), w[there]
            scale = float(own @ own)
            if scale == 0 or np.std(slope) == 0:
                continue
            factor = float(slope @ own) / scale
            rest = slope - factor * own
            explained = 1 - float(rest @ rest) / float(slope @ slope)
            yield from _of_rate(record.name, angle, rate, factor, explained)


def _of_rate(where: str, angle: str, rate: str, factor: float, explained: float):
    about = f"{where}, {rate}"
    if explained < EXPLAINED:
        if explained < 0.5:
            yield Remark(
                "doubtful",
                about,
                f"the model says that it is the derivative of {angle}, which it explains to "
                f"{max(explained, 0):.0%} only.",
                "Noise of the differences may be the reason; or it is another rate, or late.",
            )
        return
    # Noise of the rate makes the factor too small by as much as it leaves unexplained.
    near = NEAR + 2 * (1 - explained)
    if abs(factor - 1) <= near:
        return
    words = f"the derivative of {angle} is {factor:.3g} times {rate}, and should equal it."
    yield Remark("wrong", about, words, _cure(factor))


def _cure(factor: float) -> str:
    sign = "The sign of one of them is wrong. " if factor < 0 else ""
    for known, words in FACTORS.items():
        if abs(abs(factor) / known - 1) <= NEAR:
            return f"{sign}Their units differ: perhaps {words}."
    return sign or "A gain differs: check units, or give the sensor a gain as a parameter."


def start_remarks(problem: Problem, values: np.ndarray) -> Iterator[Remark]:
    """What is measured against what the model shows where it starts: units and signs.

    **Arguments:**

    - `values`: of the channels at the samples of all trials, at the start values.
    """
    data = problem.data
    measured, present = np.asarray(data.measured), np.asarray(data.present)
    for j, name in enumerate(problem.channels):
        there = present[..., j] & np.isfinite(values[..., j])
        x, shown = measured[..., j][there], values[..., j][there]
        if x.size < 20 or np.std(x) == 0 or np.std(shown) == 0:
            continue
        ratio, alike = np.std(x) / np.std(shown), float(np.corrcoef(x, shown)[0, 1])
        if alike < -0.7:
            yield Remark(
                "doubtful",
                name,
                "it is opposite to what the model shows where it starts (correlation "
                f"{alike:.2f}).",
                "Check the sign of the sensor, or of an input.",
            )
        for known, words in FACTORS.items():
            if abs(ratio / known - 1) <= NEAR and known not in (1e3, 1e-3, 9.81, 1 / 9.81):
                yield Remark(
                    "doubtful",
                    name,
                    f"it varies {ratio:.3g} times as much as the model shows where it starts.",
                    f"Check its unit: perhaps {words}.",
                )


def horizon_remarks(problem: Problem, jacobian: np.ndarray) -> Iterator[Remark]:
    """Trials so long that what is not known of the start grows beyond the motion itself.

    **Arguments:**

    - `jacobian`: of the channels at the samples of all trials, by the unknowns of each.
    """
    if problem.num_start == 0 or problem.links:
        return
    data, d = problem.data, problem.num_start
    present = np.asarray(data.present)
    times = np.take_along_axis(np.asarray(data.ts), np.asarray(data.at), 1)
    shortest = np.inf
    for k in range(problem.num_trials):
        starts = jacobian[k][..., -d:]
        there = present[k]
        sizes = np.array([np.std(np.asarray(data.measured)[k][there[:, j], j]) if there[:, j].any()
                          else np.nan for j in range(there.shape[1])])  # fmt: skip
        noise = np.array([_noise(np.asarray(data.measured)[k][there[:, j], j])
                          for j in range(there.shape[1])])  # fmt: skip
        shares = _growth(starts, there, sizes, noise)
        beyond = np.flatnonzero(shares > BLOWN)
        if beyond.size:
            shortest = min(shortest, times[k][beyond[0]] - times[k][0])
    if np.isfinite(shortest):
        yield Remark(
            "doubtful",
            "horizon",
            "errors of the start that noise leaves grow to the size of the motion in "
            f"{shortest:.2g} s, as far as the start values tell: a search over whole records may "
            "stray.",
            f"Fit window by window: estimate(..., window={0.5 * shortest:.2g}).",
        )


def _growth(
    starts: Float[np.ndarray, "n c d"],
    there: np.ndarray,
    sizes: Float[np.ndarray, " c"],
    noise: Float[np.ndarray, " c"],
) -> Float[np.ndarray, " n"]:
    """What errors of the start amount to later, as shares of how far channels vary."""
    usable = np.isfinite(sizes) & (sizes > 0) & np.isfinite(noise) & (noise > 0)
    if not usable.any():
        return np.zeros(len(starts))
    rows = np.where(there[..., None], starts, 0)[:, usable] / noise[usable][None, :, None]
    first = rows[: max(8, len(rows) // 20)].reshape(-1, rows.shape[-1])
    _, s, right = np.linalg.svd(first, full_matrices=False)
    told = s > 1e-6 * s.max(initial=0)
    errors = right[told].T / s[told][None, :]
    spread = np.sqrt(np.sum((rows @ errors) ** 2, -1)) * (noise / sizes)[usable][None, :]
    return np.nan_to_num(spread.max(-1))


def _noise(x: Float[np.ndarray, " n"]) -> float:
    """Of a channel, from fourth differences of its samples, which a smooth motion hardly has.

    1.4826 times the median of absolute values is the standard deviation of normal ones, and 70 the
    sum of the squares of the coefficients 1, -4, 6, -4, 1.
    """
    if x.size < 8:
        return float("nan")
    return float(1.4826 * np.median(np.abs(np.diff(x, 4))) / np.sqrt(70)) or float("nan")
