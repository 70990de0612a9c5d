"""Whether data show a motion at all, and which parameters they tell if they do not."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Bool, Float

from ._covariance import column_lengths
from ._fit import Fit
from ._robust import Squares
from ._rows import weighted_rows


# Above this probability constants explain the data as well. Far from 1: of noise alone the fit
# takes what frequency suits it best.
SMALLEST_P = 1e-3
# Changes of the data by rounding, relative to the data.
ROUNDING = 100
# Errors of coordinates, which are of order one, above which means do not tell a parameter.
UNTOLD = 0.5
# Share of an effect that may vary if it counts as the same in all samples.
STEADY = 0.01


def is_flat(fit: Fit, num_unknowns: int) -> bool:
    """Whether a constant for each channel of each record explains the data as well as the model.

    The F test of the model against these constants.
    """
    problem = fit.problem
    data, loss = problem.data, fit.model.loss
    present = np.asarray(data.present)
    measured, values = np.asarray(data.measured), np.asarray(fit.prediction.values)
    sigma = np.asarray(fit.state.sigma)
    owners = np.asarray(problem.owners)
    middle = np.mean if isinstance(loss, Squares) else np.median
    constants, left = 0.0, cost(loss, (measured - values) / sigma, present)
    count = 0
    for owner in np.unique(owners):
        of = owners == owner
        for j in range(sigma.size):
            known = measured[of, :, j][present[of, :, j]]
            if known.size:
                deviation = (known - middle(known)) / sigma[j]
                constants += cost(loss, deviation, np.ones(known.size, bool))
                count += 1
    dof = float(present.sum()) - num_unknowns
    if not constants > left:
        return True
    if dof <= 0 or left <= 0:
        return False
    more = max(num_unknowns - count, 1)
    ratio = (constants - left) / more / (left / dof)
    return float(scipy.stats.f.sf(ratio, more, dof)) > SMALLEST_P


def cost(loss: Any, r: Float[np.ndarray, "..."], present: Bool[np.ndarray, "..."]) -> float:
    """The sum of the loss of residuals in standard deviations."""
    return float(jnp.sum(loss.rho(jnp.asarray(r[present] ** 2))))


def untold_by_rounding(fit: Fit, lengths: Float[np.ndarray, " q"]) -> Bool[np.ndarray, " q"]:
    """Parameters whose effect is no more than rounding errors of the data.

    **Arguments:**

    - `lengths`: of the weighted columns of the parameters' coordinates, which are of order one.
    """
    data, sigma = fit.problem.data, np.asarray(fit.state.sigma, np.float64)
    present = np.asarray(data.present)
    weighted = np.where(present, np.asarray(data.measured, np.float64) / sigma, 0.0)
    size = np.sqrt(np.sum(weighted**2) + present.sum())
    return lengths <= ROUNDING * np.finfo(data.measured.dtype).eps * size


def untold_by_means(
    fit: Fit, spread: Float[np.ndarray, "p i"], variance: float
) -> Bool[np.ndarray, " q"]:
    """Parameters that neither the means of channels nor priors tell.

    What else they do to the prediction grows with the motion, which is not there. To count, the
    effect on the mean of a change of order one must be as large as the noise of one sample; if it
    is the same in all samples, as that of an offset, it must stand out from that of the mean.
    What changes of starts make up for is no effect.
    """
    count = fit.problem.shared.size
    _, J, runs, _ = weighted_rows(fit, spread)
    own, starts = J[:, :count], J[:, count:]
    lengths = column_lengths(starts)
    starts = starts / np.where(lengths > 0, lengths, 1.0)
    own = own - starts @ np.linalg.lstsq(starts, own, rcond=1e-10)[0]
    whole, means, first = np.sum(own**2, 0), np.zeros(count), 0
    for length in runs:
        means += np.sum(own[first : first + length], 0) ** 2 / max(length, 1)
        first += length
    prior = np.sum(np.asarray(fit.state.found.prior, np.float64)[:, :count] ** 2, 0)
    large = means >= variance * len(J)
    steady = (whole - means <= STEADY**2 * whole) & (means * UNTOLD**2 >= variance)
    return ~(large | steady | (prior * UNTOLD**2 >= variance))
