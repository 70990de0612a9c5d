"""Standard errors of parameters where residuals are correlated in time."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from ._covariance import delta
from ._findings import Channel, Trial, Whiteness
from ._fit import Fit
from ._robust import Squares
from ._sandwich import clustered, newey_west
from ._whiteness import whiteness


# Below this residuals are not called white.
SMALLEST_P = 0.05


def correlated_errors(fit: Fit, trials: Sequence[Trial]) -> Float[np.ndarray, " q"]:
    """Standard errors that need no white residuals.

    Windows that need not join are clusters: residuals may be correlated in them, over all channels
    and in any way; of what each record has for itself, which is in few of them, nothing is said.
    Otherwise the errors are those of Newey and West, by channels.

    **Arguments:**

    - `trials`: those that were fitted.

    **Returns:** the errors of the parameters; infinite where the data do not tell them. All are NaN
    if the loss is a robust one, or if residuals that are not in clusters are white.
    """
    known = fit.uncertainty
    nothing = np.full(known.values.size, np.nan)
    if not isinstance(fit.model.loss, Squares):
        return nothing
    r, J, runs, windows = fit.rows
    if r.size <= known.information.rank:
        return nothing
    count = fit.problem.shared.size
    prior = np.asarray(fit.state.found.prior, np.float64)
    by_prior = np.zeros((len(prior), J.shape[1]))
    by_prior[:, :count] = prior[:, :-1]
    rows, residuals = np.concatenate([J, by_prior]), np.concatenate([r, prior[:, -1]])
    rows[:, known.silent] = 0.0
    options = {"num_priors": len(prior), "rtol": known.rtol}
    clusters = _enough_clusters(fit)
    if clusters:
        covariance = clustered(rows, residuals, windows, **options)
    else:
        channels = [_tested(channel) for trial in trials for channel in trial.channels]
        if not any(channel.p_value < SMALLEST_P for channel in channels):
            return nothing
        sizes = [channel.measured.size for trial in trials for channel in trial.channels]
        longest = min(_lags(max(sizes), channels), max(runs) - 1)
        covariance = newey_west(rows, residuals, longest, runs, **options)
    parts = delta(covariance[:count, :count], known.dphysical)
    errors = np.where(known.identifiable, np.sqrt(np.diag(parts)), np.inf)
    if clusters:
        # What belongs to one record is in few clusters, which say little about it.
        errors[_own_of_records(fit)] = np.nan
    return errors


def _own_of_records(fit: Fit) -> Bool[np.ndarray, " q"]:
    """Which parameters each record has for itself."""
    own = np.arange(fit.problem.shared.size) >= fit.problem.shared.num_shared
    return np.any(fit.uncertainty.dphysical[:, own] != 0, axis=1)


def _enough_clusters(fit: Fit) -> bool:
    """Whether there are windows that need not join, more than parameters that they share."""
    owners = fit.problem.owners
    apart = len(set(owners)) < len(owners) and not fit.problem.links
    return apart and len(owners) > fit.problem.shared.size


def _tested(channel: Channel) -> Whiteness:
    """Whether residuals are white; where times have no common step, in the order of samples."""
    if not channel.whiteness.note:
        return channel.whiteness
    return whiteness(channel.measured - channel.predicted)


def _lags(longest: int, channels: Sequence[Whiteness]) -> int:
    """Twice the time that residuals are correlated for; by the usual rule if that is longer.

    **Arguments:**

    - `longest`: the number of samples of the longest channel.

    Source: W. K. Newey & K. D. West, *Automatic lag selection in covariance matrix estimation*.
    """
    found = [int(4 * (longest / 100) ** (2 / 9))]
    for white in channels:
        inside = np.flatnonzero(~(white.autocorrelation > white.bound))
        if white.p_value < SMALLEST_P:
            found.append(2 * int(inside[0] if inside.size else white.autocorrelation.size))
    return max(found)
