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

    - `name`, `unit`: as the user called it.
    - `start`, `value`: before and after the fit.
    - `error`: standard error; infinite if the data do not tell it, NaN if it was held.
    - `low`, `high`: the confidence interval.
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

    - `autocorrelation`: at the lags 0, 1, 2, ...
    - `bound`: of 95 % of these, if the residuals are white.
    - `p_value`: of the test of Ljung and Box; NaN if it was not made.
    - `note`: why not, if there is a reason to tell.
    """

    autocorrelation: Float[np.ndarray, " lags"]
    bound: float
    p_value: float
    note: str = ""


@dataclass(frozen=True)
class Channel:
    """What was measured and what the model says, for one channel of one trial.

    - `measured`: NaN where a sample is missing.
    - `sigma`: standard deviation of the noise.
    - `r_squared`: share of the variance explained.
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

    - `held_out`: whether it was predicted only, not fitted.
    - `points`: of the mechanism, positions of points at the times (m), for an animation;
        `None` without one.
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
    - `weights`: of the parameters, of unit length together.
    - `words`: for instance `"mass * stiffness^-1"`.
    """

    error: float
    weights: Float[np.ndarray, " p"]
    words: str


@dataclass(frozen=True)
class Profile:
    """The profile likelihood of one parameter.

    - `grid`: its values; `deviance`: twice the loss of log-likelihood at each.
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

    - `title`: of the report.
    - `estimates`: of parameters; `initial_states`: of unknown starts.
    - `correlation`: of the free parameters, in the order of those `estimates` not fixed.
    - `combinations`: eigen-directions, the worst known first; `unidentifiable`: which
        combinations the data do not tell, in words.
    - `level`: of the intervals, for instance 0.95.
    - `loss`: at the start and after each iteration; `converged`, `message`: how it ended.
    - `worst_residual`: of all constraints, in any step of any trial.
    - `seconds`: wall time; `versions`: of the packages.
    - `lines`: pairs of numbers of points that the animation joins.
    - `flat`: whether constants would explain the fitted channels as well as the model does: then
        nothing is told by their motion.
    - `criteria`: of Akaike and Schwarz; `None` for robust losses.
    - `hold_out`: how well the samples held out are predicted, starts of their own fitted to them;
        `None` without any.
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
