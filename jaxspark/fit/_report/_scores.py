"""How well each channel of each trial is explained."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._findings import Channel, Findings, Trial
from ._digits import number


# Below this residuals are not called white.
SMALLEST_P = 0.05


class Score(NamedTuple):
    """How well the model explains one channel of one trial.

    - `samples`, `missing`: how many were measured, and how many were not.
    - `rms`: of the residuals, in the unit of the channel; `ratio`: to the noise.
    - `next_one`: correlation of neighbouring residuals.
    - `outside`: share of the autocorrelations beyond the bounds; white noise: 0.05.
    """

    trial: Trial
    channel: Channel
    samples: int
    missing: int
    rms: float
    ratio: float
    next_one: float
    outside: float

    @property
    def white(self) -> bool | None:
        """Whether the residuals look like white noise; `None` if that was not tested."""
        p_value = self.channel.whiteness.p_value
        return None if math.isnan(p_value) else p_value >= SMALLEST_P


def scores(findings: Findings) -> tuple[Score, ...]:
    """The score of each channel of each trial, in their order."""
    return tuple(_score(trial, channel) for trial in findings.trials for channel in trial.channels)


def pooled_ratio(of: tuple[Score, ...]) -> float:
    """Root mean square of residuals over noise, of all samples together; NaN without any."""
    known = [score for score in of if math.isfinite(score.ratio)]
    samples = sum(score.samples for score in known)
    if not samples:
        return math.nan
    return math.sqrt(sum(score.samples * score.ratio**2 for score in known) / samples)


def comparisons(findings: Findings, shown: Callable[[str], str] = str) -> tuple[str, ...]:
    """Sentences with figures that tell which of several models suits the same data best.

    **Arguments:**

    - `findings`: of one of them.
    - `shown`: how numbers are set.
    """
    found, criteria, hold_out = [], findings.criteria, findings.hold_out
    if criteria is not None:
        # What counts are differences, of one or more.
        aic, bic = (shown(f"{value:.1f}") for value in (criteria.aic, criteria.bic))
        found.append(f"AIC {aic}, BIC {bic}: smaller is better, for models of the same data.")
    if hold_out is not None:
        each = shown(number(hold_out.log_density_each))
        found.append(f"Log density of a held-out sample, in the mean: {each}. Larger is better.")
    return tuple(found)


def _score(trial: Trial, channel: Channel) -> Score:
    residuals = channel.measured - channel.predicted
    known = np.isfinite(channel.measured)
    with np.errstate(over="ignore"):
        rms = float(np.sqrt(np.mean(residuals[known] ** 2))) if known.any() else math.nan
    correlation = channel.whiteness.autocorrelation[1:]
    correlation = correlation[np.isfinite(correlation)]
    return Score(
        trial,
        channel,
        samples=int(known.sum()),
        missing=int((~known).sum()),
        rms=rms,
        ratio=rms / channel.sigma if channel.sigma > 0 else math.nan,
        next_one=float(correlation[0]) if correlation.size else math.nan,
        outside=_share_outside(correlation, channel.whiteness.bound),
    )


def _share_outside(correlation: np.ndarray, bound: float) -> float:
    if not correlation.size or math.isnan(bound):
        return math.nan
    return float(np.mean(np.abs(correlation) > bound))
