"""How well a model predicts data that were held out, and what it costs in parameters."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


_LOG_2_PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Criteria:
    """Criteria of a fit, to compare models on the same data: smaller is better.

    - `log_likelihood`: the logarithm of the likelihood of the data.
    - `aic`, `bic`: Akaike's and Schwarz's criteria.
    """

    log_likelihood: float
    aic: float
    bic: float


@dataclass(frozen=True)
class HoldOutScore:
    """How well data that were not fitted are predicted.

    - `samples`: the number of samples.
    - `ratio`: root mean square of residuals over noise; 1 for a perfect model.
    - `log_density`: predictive log density of all samples together; larger is better.
    - `log_density_each`: the mean of this for one sample.
    """

    samples: int
    ratio: float
    log_density: float
    log_density_each: float


def criteria(
    r: Float[np.ndarray, " n"],
    num_unknowns: int,
    sigma: Float[np.ndarray, " n"] | None = None,
    *,
    noise_known: bool = False,
) -> Criteria:
    """Criteria of Akaike and Schwarz of a fit.

    **Arguments:**

    - `r`: weighted residuals of the data, those of priors left out, shape `(n,)`.
    - `num_unknowns`: number of unknowns that were estimated; the strength of the noise is added
        if it was estimated.
    - `sigma`: standard deviations that the residuals were divided by, shape `(n,)`; needed to
        compare models with different ones.
    - `noise_known`: whether these are the true ones; if not, they are known up to a common factor,
        which is estimated.

    **Returns:** the [`jaxspark.fit.Criteria`][].

    **Raises:** `ValueError` without data.

    Source: H. Akaike, *A new look at the statistical model identification*; G. Schwarz,
    *Estimating the dimension of a model*.
    """
    count = r.size
    if not count:
        raise ValueError("there are no data.")
    squares = float(r @ r)
    if noise_known:
        log_likelihood = -(squares + count * _LOG_2_PI) / 2
    else:
        num_unknowns += 1
        log_variance = math.log(squares / count) if squares > 0 else -math.inf
        log_likelihood = -count / 2 * (1 + _LOG_2_PI + log_variance)
    if sigma is not None:
        log_likelihood -= float(np.sum(np.log(sigma)))
    return Criteria(
        log_likelihood,
        aic=2 * num_unknowns - 2 * log_likelihood,
        bic=math.log(count) * num_unknowns - 2 * log_likelihood,
    )


def predictive_log_density(
    r: Float[np.ndarray, " n"],
    sigma: Float[np.ndarray, " n"] | None = None,
    *,
    variance: float | int = 1.0,
    J: Float[np.ndarray, "n p"] | None = None,
    factor: Float[np.ndarray, "p k"] | None = None,
) -> float:
    """Logarithm of the density of data under a prediction.

    Noise is normal, with weighted variance `variance`. With `J` and `factor` the density is that
    of the predictive distribution, in which the unknowns are as uncertain as the fit left them.

    **Arguments:**

    - `r`: weighted residuals of the data.
    - `sigma`: standard deviations that they were divided by; without them the density is that of
        the weighted data.
    - `variance`: of the weighted residuals.
    - `J`: derivative of the residuals by the unknowns.
    - `factor`: `F` of the covariance `F F^T` of the unknowns, such as
        `np.sqrt(variance) * information(...).factor`.

    **Returns:** the logarithm of the density of all data together.

    **Raises:** `ValueError` if the variance is not positive, or one of `J` and `factor` is
    missing.
    """
    if not variance > 0:
        raise ValueError(f"variance must be positive; got {variance}.")
    if (J is None) != (factor is None):
        raise ValueError("J and factor belong together: give both, or none.")
    count = r.size
    quadratic = float(r @ r) / variance
    log_determinant = count * math.log(variance)
    if J is not None and factor is not None and count and factor.shape[1]:
        left, singular, _ = np.linalg.svd(J @ factor / math.sqrt(variance), full_matrices=False)
        along = left.T @ r / math.sqrt(variance)
        quadratic -= float(np.sum(along**2 * singular**2 / (1 + singular**2)))
        log_determinant += float(np.sum(np.log1p(singular**2)))
    if sigma is not None:
        log_determinant += 2 * float(np.sum(np.log(sigma)))
    return -(quadratic + log_determinant + count * _LOG_2_PI) / 2


def hold_out_score(
    r: Float[np.ndarray, " n"],
    sigma: Float[np.ndarray, " n"] | None = None,
    *,
    variance: float | int = 1.0,
    J: Float[np.ndarray, "n p"] | None = None,
    factor: Float[np.ndarray, "p k"] | None = None,
) -> HoldOutScore:
    """How well data that were not fitted are predicted.

    Noise is normal. With `J` and `factor` the density is that of the predictive distribution, in
    which the unknowns are as uncertain as the fit left them.

    **Arguments:**

    - `r`: weighted residuals of the data, shape `(n,)`.
    - `sigma`: standard deviations that they were divided by, shape `(n,)`; without them the density
        is that of the weighted data.
    - `variance`: that of the weighted residuals.
    - `J`: derivative of the residuals by the unknowns, shape `(n, p)`.
    - `factor`: `F` of the covariance `F F^T` of the unknowns, shape `(p, k)`, for instance
        `np.sqrt(variance) * information.factor`, for a [`jaxspark.fit.Information`][].

    **Returns:** the [`jaxspark.fit.HoldOutScore`][].

    **Raises:** `ValueError` without data, for a variance that is not positive, and with only one of
    `J` and `factor`.
    """
    if not r.size:
        raise ValueError("there are no data.")
    density = predictive_log_density(r, sigma, variance=variance, J=J, factor=factor)
    ratio = math.sqrt(float(r @ r) / r.size)
    return HoldOutScore(r.size, ratio, density, density / r.size)
