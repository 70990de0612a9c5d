"""How well a model fits, and how precisely its parameters are known."""

from typing import NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Float

from ._evaluate import NAMES
from ._fit import Fit


LEVEL = 0.95


class Goodness(NamedTuple):
    """How well a model fits.

    - `r_squared`: share of the variance explained.
    - `rms`: of the residual (V).
    - `aic`, `bic`: Akaike's and Schwarz's criterion, up to a constant.
    - `autocorrelation`: of the residual, over one sampling interval.
    """

    r_squared: float
    rms: float
    aic: float
    bic: float
    autocorrelation: float


class Estimate(NamedTuple):
    """One fitted parameter, in SI units.

    - `name`, `value`.
    - `error`: standard error, allowing for autocorrelation; never below `white_error`.
    - `white_error`: standard error if the residuals were independent.
    - `low`, `high`: 95 % confidence interval, from `error`.
    """

    name: str
    value: float
    error: float
    white_error: float
    low: float
    high: float


def goodness(fit: Fit) -> Goodness:
    """How well a model fits.

    Source: H. Akaike, *A new look at the statistical model identification*; G. Schwarz,
    *Estimating the dimension of a model*.
    """
    residual, measured = fit.residual, fit.measured
    count, unknowns = residual.size, int(fit.free.sum())
    squares = float(residual @ residual)
    deviance = count * np.log(squares / count)
    centred = residual - residual.mean()
    return Goodness(
        r_squared=1 - squares / float(np.sum((measured - measured.mean()) ** 2)),
        rms=float(np.sqrt(squares / count)),
        aic=float(deviance + 2 * unknowns),
        bic=float(deviance + np.log(count) * unknowns),
        autocorrelation=float(centred[1:] @ centred[:-1] / (centred @ centred)),
    )


def white_covariance(fit: Fit) -> Float[np.ndarray, "k k"]:
    """Covariance of the fitted parameters for independent residuals, `s^2 (J^T J)^{-1}`."""
    residual = fit.residual
    degrees = residual.size - int(fit.free.sum())
    return float(residual @ residual) / degrees * _inverse_information(fit)


def robust_covariance(fit: Fit, lags: int) -> Float[np.ndarray, "k k"]:
    """Covariance of the fitted parameters for residuals correlated over `lags` samples.

    Source: W. K. Newey & K. D. West, *A simple, positive semi-definite, heteroskedasticity
    and autocorrelation consistent covariance matrix*.
    """
    scores = fit.jacobian[:, fit.free] * fit.residual[:, None]
    spread = scores.T @ scores
    for lag in range(1, lags + 1):
        lagged = scores[lag:].T @ scores[:-lag]
        spread += (1 - lag / (lags + 1)) * (lagged + lagged.T)
    inverse = _inverse_information(fit)
    degrees = scores.shape[0] - scores.shape[1]
    return scores.shape[0] / degrees * inverse @ spread @ inverse


def _inverse_information(fit: Fit) -> Float[np.ndarray, "k k"]:
    """`(J^T J)^{-1}` from the QR factors of `J`, with columns scaled to length 1."""
    jacobian = fit.jacobian[:, fit.free]
    lengths = np.linalg.norm(jacobian, axis=0)
    inverse = np.linalg.inv(np.linalg.qr(jacobian / lengths, mode="r")) / lengths[:, None]
    return inverse @ inverse.T


def estimates(fit: Fit, lags: int) -> list[Estimate]:
    """The fitted parameters with standard errors and confidence intervals.

    **Arguments:**

    - `fit`: the fitted model.
    - `lags`: over how many samples residuals may be correlated.

    **Returns:** one [`Estimate`][] for each fitted parameter. Intervals are those of
    Student's t distribution.
    """
    degrees = fit.measured.size - int(fit.free.sum())
    quantile = scipy.stats.t.ppf(0.5 + LEVEL / 2, degrees)
    white_errors = np.sqrt(np.diag(white_covariance(fit)))
    errors = np.maximum(np.sqrt(np.diag(robust_covariance(fit, lags))), white_errors)
    names = [name for name, free in zip(NAMES, fit.free) if free]
    found = []
    for name, error, white in zip(names, errors.tolist(), white_errors.tolist()):
        value, half = fit.value(name), float(quantile * error)
        found.append(Estimate(name, value, error, white, value - half, value + half))
    return found
