"""Standard errors of parameters where residuals are correlated in time."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._covariance import delta, newey_west
from ._findings import Channel, Trial
from ._fit import Fit
from ._robust import Squares


# Below this residuals are not called white.
SMALLEST_P = 0.05


def correlated_errors(fit: Fit, trials: Sequence[Trial]) -> Float[np.ndarray, " q"]:
    """Standard errors of Newey and West, which need no white residuals.

    **Arguments:**

    - `trials`: those that were fitted.

    **Returns:** the errors of the parameters; infinite where the data do not tell them, all NaN if
    residuals are white or the loss is a robust one.
    """
    known = fit.uncertainty
    channels = [channel for trial in trials for channel in trial.channels]
    nothing = np.full(known.values.size, np.nan)
    coloured = any(channel.whiteness.p_value < SMALLEST_P for channel in channels)
    if not coloured or not isinstance(fit.model.loss, Squares):
        return nothing
    r, J, runs = fit.rows
    if r.size <= known.information.rank:
        return nothing
    count = fit.problem.shared.size
    prior = np.asarray(fit.state.found.prior, np.float64)
    by_prior = np.zeros((len(prior), J.shape[1]))
    by_prior[:, :count] = prior[:, :-1]
    rows, residuals = np.concatenate([J, by_prior]), np.concatenate([r, prior[:, -1]])
    rows[:, known.silent] = 0.0
    longest = min(_lags(channels), max(runs) - 1)
    covariance = newey_west(
        rows, residuals, longest, runs, num_priors=len(prior), rtol=known.rtol
    )  # fmt: skip
    parts = delta(covariance[:count, :count], known.dphysical)
    return np.where(known.identifiable, np.sqrt(np.diag(parts)), np.inf)


def _lags(channels: Sequence[Channel]) -> int:
    """Twice the time that residuals are correlated for; by the usual rule if that is longer.

    Source: W. K. Newey & K. D. West, *Automatic lag selection in covariance matrix estimation*.
    """
    longest = max(channel.measured.size for channel in channels)
    found = [int(4 * (longest / 100) ** (2 / 9))]
    for channel in channels:
        white = channel.whiteness
        inside = np.flatnonzero(~(white.autocorrelation > white.bound))
        if white.p_value < SMALLEST_P:
            found.append(2 * int(inside[0] if inside.size else white.autocorrelation.size))
    return max(found)
