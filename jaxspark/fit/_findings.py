"""All that a fit found, as plain numbers: what reports are made of."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from ._score import Criteria, HoldOutScore


@dataclass(frozen=True)
class Estimate:
    """One number that was estimated, or held.

    - `name`, `unit`: those of the parameter or start.
    - `start`, `value`: before and after the fit.
    - `error`: standard error; infinite if the data do not tell the number, NaN if it was held.
    - `low`, `high`: the ends of the confidence interval.
    - `fixed`: whether it was held.
    - `identifiable`: whether the data tell it at all.
    - `at_bound`: `"lower"` or `"upper"` if it ended at a bound.
    - `correlated_error`: standard error that allows for residuals which are correlated in time:
        by clusters, for windows that need not join ([`jaxspark.fit.clustered`][]: of few windows
        intervals are those of Student's t, with their number less one), else of Newey and West.
        NaN if residuals are white, for starts, for robust losses, and by clusters for what each
        record has for itself.
    """

    name: str
    unit: str
    start: float
    value: float
    error: float
    low: float
    high: float
    fixed: bool = False
    identifiable: bool = True
    at_bound: Literal["", "lower", "upper"] = ""
    correlated_error: float = math.nan


@dataclass(frozen=True)
class Whiteness:
    """Whether residuals of one channel of one trial look like white noise.

    - `autocorrelation`: that at the lags 0, 1, 2, ..., shape `(lags,)`.
    - `bound`: 95 % of these are within it, if the residuals are white.
    - `p_value`: that of the Ljung-Box test; NaN if it was not made.
    - `note`: why it was not made, if there is a reason to tell.
    """

    autocorrelation: Float[np.ndarray, " lags"]
    bound: float
    p_value: float
    note: str = ""


@dataclass(frozen=True)
class Channel:
    """What was measured and what the model says, for one channel of one trial.

    - `name`, `unit`: those of the channel.
    - `measured`, `predicted`: the samples and what the model says, shape `(n,)`, in the unit of the
        channel; `measured` is NaN where a sample is missing.
    - `sigma`: standard deviation of the noise, in the unit of the channel.
    - `r_squared`: share of the variance explained.
    - `whiteness`: a [`jaxspark.fit.Whiteness`][] of the residuals.
    """

    name: str
    unit: str
    measured: Float[np.ndarray, " n"]
    predicted: Float[np.ndarray, " n"]
    sigma: float
    r_squared: float
    whiteness: Whiteness


@dataclass(frozen=True)
class Trial:
    """One record and its prediction.

    - `name`: that of the record.
    - `times`: those of its samples (s), shape `(n,)`.
    - `channels`: a [`jaxspark.fit.Channel`][] for each.
    - `held_out`: whether it was predicted only, not fitted.
    - `points`: positions of points of the mechanism at the times (m), for an animation, shape
        `(n, points, dim)`; `None` without one.
    """

    name: str
    times: Float[np.ndarray, " n"]
    channels: tuple[Channel, ...]
    held_out: bool = False
    points: Float[np.ndarray, "n points dim"] | None = None


@dataclass(frozen=True)
class Combination:
    """A direction in the space of the parameters, in relative units.

    - `error`: relative standard error along it; infinite if the data do not tell it.
    - `weights`: those of the parameters, a unit vector of shape `(p,)`.
    - `words`: the same in words, for instance `"mass * stiffness^-1"`.
    """

    error: float
    weights: Float[np.ndarray, " p"]
    words: str


@dataclass(frozen=True)
class Profile:
    """The profile likelihood of one parameter.

    - `name`, `unit`: those of the parameter.
    - `grid`: its values, shape `(n,)`.
    - `deviance`: at each, twice what the log-likelihood loses, shape `(n,)`.
    - `threshold`: the deviance at the ends of the interval.
    - `low`, `high`: the interval where the deviance is below `threshold`; NaN where it is open.
    """

    name: str
    unit: str
    grid: Float[np.ndarray, " n"]
    deviance: Float[np.ndarray, " n"]
    threshold: float
    low: float
    high: float


@dataclass(frozen=True)
class Findings:
    """All that a fit found.

    - `title`: that of the report.
    - `estimates`, `initial_states`: a [`jaxspark.fit.Estimate`][] for each number of the parameters
        and of unknown starts.
    - `correlation`: that of the `p` free parameters, in the order of those `estimates` not fixed,
        shape `(p, p)`.
    - `combinations`: eigen-directions, each a [`jaxspark.fit.Combination`][], the worst known
        first.
    - `unidentifiable`: which combinations the data do not tell, in words.
    - `level`: that of the intervals, for instance 0.95.
    - `trials`: a [`jaxspark.fit.Trial`][] for each record.
    - `loss`: at the start and after each iteration.
    - `converged`, `message`: whether the fit converged, and how it ended, in words.
    - `worst_residual`: the worst of all constraints, in any step of any trial.
    - `seconds`: wall time (s).
    - `versions`: those of the packages.
    - `profiles`: a [`jaxspark.fit.Profile`][] for each that was given.
    - `warnings`: what a reader should know, in words.
    - `lines`: pairs of numbers of points that the animation joins.
    - `flat`: whether constants would explain the fitted channels as well as the model does: then
        their motion tells nothing.
    - `criteria`: the [`jaxspark.fit.Criteria`][] of Akaike and Schwarz; `None` for robust losses.
    - `hold_out`: a [`jaxspark.fit.HoldOutScore`][]: how well the samples held out are predicted,
        with starts fitted to them; `None` without any.
    """

    title: str
    estimates: tuple[Estimate, ...]
    initial_states: tuple[Estimate, ...]
    correlation: Float[np.ndarray, "p p"]
    combinations: tuple[Combination, ...]
    unidentifiable: tuple[str, ...]
    level: float
    trials: tuple[Trial, ...]
    loss: tuple[float, ...]
    converged: bool
    message: str
    worst_residual: float
    seconds: float
    versions: dict[str, str]
    profiles: tuple[Profile, ...] = ()
    warnings: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = field(default=())
    flat: bool = False
    criteria: Criteria | None = None
    hold_out: HoldOutScore | None = None
