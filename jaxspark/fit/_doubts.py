"""What to doubt in a fit, and figures to compare it with others."""

from collections.abc import Sequence

import numpy as np

from ._evaluate import continuity
from ._findings import Trial
from ._fit import Fit
from ._robust import Squares
from ._score import Criteria, criteria, hold_out_score, HoldOutScore


def doubts(fit: Fit) -> tuple[str, ...]:
    """Sentences about channels that say nothing, windows that do not join, and the like."""
    found = []
    for name, sigma in fit.sigma.items():
        span = np.nanmax([np.nanmax(np.abs(r.channels[name])) for r in fit.records])
        if sigma < 1e-9 * span:
            found.append(f"The channel {name} is met to rounding errors: is it measured at all?")
    known = fit.uncertainty
    if known.flat:
        found.append(
            "The channels show no motion beyond their noise: constants would explain them as well "
            "as the model does. What acts through the motion alone is not told."
        )
    found += _jumps(fit)
    if not fit.converged:
        moved = np.abs(known.dphysical @ known.remaining[: fit.problem.shared.size])
        change = ", ".join(f"{name} by {x:.2g}" for name, x in zip(fit.names, moved))
        found.append(
            "The fit has not converged, and the errors allow for that: a step to the minimum of "
            f"the linearised problem would change {change}."
        )
    return tuple(found)


def _jumps(fit: Fit) -> list[str]:
    """Windows that do not join."""
    problem = fit.problem
    if not problem.links:
        return []
    jumps = np.asarray(continuity(problem, fit.state.found)[1]).reshape(len(problem.links), -1)
    largest = np.abs(jumps).max(1)
    worst = int(np.argmax(largest))
    if largest[worst] <= np.sqrt(np.finfo(jumps.dtype).eps):
        return []
    after = problem.links[worst] + 1
    return [
        f"Windows do not join: the largest jump of a coordinate or velocity is "
        f"{largest[worst]:.3g}, in {fit.records[problem.owners[after]].name} at "
        f"{float(problem.data.ts[after, 0]):g} s. Between windows the motion is none of the model."
    ]


def criteria_of(fit: Fit) -> Criteria | None:
    """Criteria of Akaike and Schwarz, with the likeliest noise of each channel not given."""
    if not isinstance(fit.model.loss, Squares):
        return None
    data = fit.problem.data
    present = np.asarray(data.present)
    difference = np.asarray(fit.prediction.values - data.measured, np.float64)
    sigma, given = np.array(fit.state.sigma, np.float64), np.asarray(fit.options.known)
    estimated = 0
    for j in np.flatnonzero(~given):
        likeliest = np.sqrt(np.mean(difference[..., j][present[..., j]] ** 2))
        # Of a channel that is met exactly there is no noise to estimate.
        if likeliest > 1e-9 * sigma[j]:
            sigma[j], estimated = likeliest, estimated + 1
    every = np.broadcast_to(sigma, present.shape)[present]
    count = fit.uncertainty.information.rank + estimated
    return criteria(difference[present] / every, count, every, noise_known=True)


def hold_out_of(fit: Fit, trials: Sequence[Trial]) -> HoldOutScore | None:
    """The predictive score of all trials held out together."""
    channels = [one for trial in trials if trial.held_out for one in trial.channels]
    rows, sigmas = [np.zeros(0)], [np.zeros(0)]
    for channel in channels:
        difference = (channel.measured - channel.predicted)[np.isfinite(channel.measured)]
        rows.append(difference / channel.sigma)
        sigmas.append(np.full(difference.size, channel.sigma))
    r = np.concatenate(rows)
    if not r.size or not np.isfinite(r).all():
        return None
    # The variance of robust losses is none of the noise.
    squares = isinstance(fit.model.loss, Squares)
    variance = fit.uncertainty.variance if squares else 1.0
    return hold_out_score(r, np.concatenate(sigmas), variance=variance or 1.0)
