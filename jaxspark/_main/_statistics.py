"""How well a model fits, and how precisely its parameters are known."""

from typing import NamedTuple

import numpy as np

from .. import fit
from ._model import NAMES
from ._swing import Swing


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


def goodness(swing: Swing) -> Goodness:
    """How well a model fits.

    Source: H. Akaike, *A new look at the statistical model identification*; G. Schwarz,
    *Estimating the dimension of a model*.
    """
    residual, measured = swing.residual, swing.measured
    count, unknowns = residual.size, int(swing.free.sum())
    squares = float(residual @ residual)
    deviance = count * np.log(squares / count)
    centred = residual - residual.mean()
    return Goodness(
        r_squared=fit.r_squared(measured, swing.fitted),
        rms=float(np.sqrt(squares / count)),
        aic=float(deviance + 2 * unknowns),
        bic=float(deviance + np.log(count) * unknowns),
        autocorrelation=float(centred[1:] @ centred[:-1] / (centred @ centred)),
    )


def estimates(swing: Swing, lags: int) -> list[Estimate]:
    """The fitted parameters with standard errors and confidence intervals.

    **Arguments:**

    - `swing`: the fitted model.
    - `lags`: over how many samples residuals may be correlated.

    **Returns:** one [`Estimate`][] for each fitted parameter. Intervals are those of
    Student's t distribution.
    """
    free = swing.free
    values, white = swing.values[free], swing.white_errors[free]
    covariance = fit.newey_west(swing.jacobian[:, free], swing.residual, lags)
    errors = np.maximum(np.sqrt(np.diag(covariance)), white)
    low, high = fit.intervals(values, errors, swing.measured.size - values.size, LEVEL)
    names = [name for name, fitted in zip(NAMES, free, strict=True) if fitted]
    rows = zip(names, *(x.tolist() for x in (values, errors, white, low, high)), strict=True)
    return [Estimate(*row) for row in rows]
