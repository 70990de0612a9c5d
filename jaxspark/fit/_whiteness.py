"""Whether residuals are white, and how much of a signal is explained."""

import numpy as np
import scipy.stats
from jaxtyping import Float

from ._findings import Whiteness


# Below this number of samples nothing is tested.
_FEWEST = 8
# Of a step: how far samples may be from equidistant times.
_JITTER = 0.1
# With more steps than so many times the samples, most pairs of these are missing.
_SPARSEST = 20


def whiteness(
    residual: Float[np.ndarray, " n"],
    max_lag: int | None = None,
    num_parameters: int = 0,
    times: Float[np.ndarray, " n"] | None = None,
) -> Whiteness:
    r"""Autocorrelation of the residuals of one channel and the test of Ljung and Box.

    The mean is subtracted. Missing samples stay in their places: lags are differences of time.
    With `a_k` of `m` known samples having a known partner at lag `k`, the statistic is
    $m (m + 2) \sum r_k^2 / a_k$, where `r_k` is the sum of products over the sum of squares;
    without gaps it is that of Ljung and Box.

    **Arguments:**

    - `residual`: the residuals at equidistant times, shape `(n,)`; NaN where a sample is missing.
    - `max_lag`: the largest lag, in samples. Default: `10 log10(n)`, at most `n / 5`.
    - `num_parameters`: subtracted from the degrees of freedom, `max_lag`. It is for models that
        predict from earlier measurements, such as autoregressive noise: their coefficients
        make residuals whiter than the noise. Parameters of a simulated mechanism do not count.
    - `times`: those of the samples (s), shape `(n,)`, if they may not be equidistant. A channel
        with a clock of its own, beside others in the record, is taken by this clock. Where times
        have no common step nothing is tested, and `note` says so.

    **Returns:** the [`jaxspark.fit.Whiteness`][]. With fewer than eight samples or residuals that
    are all the same, nothing is tested: the p-value is NaN. So it is if no degrees of freedom
    are left.

    **Raises:** `ValueError` for a lag that the record does not have.

    Source: G. M. Ljung & G. E. P. Box, *On a measure of lack of fit in time series models*;
    E. Parzen, *On spectral analysis with missing observations and amplitude modulation*, and
    D. S. Stoffer & C. M. C. Toloi, *A note on the Ljung-Box-Pierce portmanteau statistic with
    missing data*, about gaps.
    """
    if times is not None:
        placed = _placed(residual, times)
        if placed is None:
            nothing = np.full(1 if max_lag is None else max_lag + 1, np.nan)
            note = "not tested: the samples are not equidistant"
            return Whiteness(nothing, np.nan, np.nan, note)
        residual = placed
    count = residual.size
    known = np.isfinite(residual)
    number = int(known.sum())
    if max_lag is None:
        max_lag = max(min(int(10 * np.log10(max(count, 1))), count // 5), 0)
    elif not 0 < max_lag < count:
        raise ValueError(f"max_lag must be between 1 and {count - 1}; got {max_lag}.")
    centred = np.where(known, residual, 0.0)
    largest = np.abs(centred).max(initial=0.0)
    # Small enough to be squared.
    centred = centred / (largest or 1.0)
    mean = centred.sum() / max(number, 1)
    centred = np.where(known, centred - mean, 0.0)
    squares = float(centred @ centred)
    bound = 1.959963984540054 / np.sqrt(number) if number else np.nan
    if number < _FEWEST or squares <= number * (1e-14 * max(abs(mean), 1e-300)) ** 2:
        return Whiteness(np.full(max_lag + 1, np.nan), float(bound), np.nan)

    lags = np.arange(1, max_lag + 1)
    products = np.array([centred[lag:] @ centred[:-lag] for lag in lags]) / squares
    pairs = np.array([np.sum(known[lag:] & known[:-lag]) for lag in lags], float)
    # Of a full record there would be so many pairs, in the mean.
    full = number * (count - lags) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.concatenate([[1.0], np.where(pairs > 0, products * full / pairs, np.nan)])
    tested = pairs > 0
    dof = int(tested.sum()) - num_parameters
    if not dof > 0:
        return Whiteness(correlation, float(bound), np.nan)
    statistic = number * (number + 2) * np.sum(products[tested] ** 2 / pairs[tested])
    # Gaps make the estimates of correlations less precise.
    bound *= np.sqrt(np.mean(full[tested] / pairs[tested]))
    return Whiteness(correlation, float(bound), float(scipy.stats.chi2.sf(statistic, dof)))


def _placed(
    residual: Float[np.ndarray, " n"], times: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " m"] | None:
    """Residuals at equidistant times, with gaps; `None` if there is no common step."""
    if times.size < 3:
        return residual
    steps = np.diff(times)
    if np.all(np.abs(steps / np.median(steps) - 1) <= _JITTER):
        return residual
    known = np.isfinite(residual)
    if known.sum() < 3:
        return residual
    steps = np.diff(times[known])
    for step in (np.median(steps), np.min(steps)):
        counts = np.round(steps / step)
        total = int(counts.sum())
        if np.all(np.abs(steps / step - counts) <= _JITTER) and counts.min() >= 1:
            if total > _SPARSEST * known.sum():
                return None
            found = np.full(total + 1, np.nan)
            found[np.concatenate([[0], np.cumsum(counts)]).astype(int)] = residual[known]
            return found
    return None


def r_squared(measured: Float[np.ndarray, " n"], predicted: Float[np.ndarray, " n"]) -> float:
    """Share of the variance that a prediction explains.

    **Arguments:**

    - `measured`: the samples, shape `(n,)`; NaN where one is missing.
    - `predicted`: the prediction at the same times and in the same unit, shape `(n,)`.

    **Returns:** 1 for a perfect prediction, 0 for one as good as the mean, less for a worse one;
    NaN if the measurements do not vary.
    """
    known = np.isfinite(measured)
    if not known.any():
        return np.nan
    values, errors = measured[known], (measured - predicted)[known]
    size = np.abs(values).max()
    deviations = values - values.mean()
    # What is left of a constant is rounding.
    if np.abs(deviations).max() <= 1e-14 * size:
        return np.nan
    return 1.0 - float(np.sum((errors / size) ** 2) / np.sum((deviations / size) ** 2))
