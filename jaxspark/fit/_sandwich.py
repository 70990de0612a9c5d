"""Covariance of estimates whose residuals are correlated."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ._covariance import information


def newey_west(
    J: Float[np.ndarray, "n p"],
    r: Float[np.ndarray, " n"],
    lags: int,
    segments: Sequence[int] | Int[np.ndarray, " s"] | None = None,
    *,
    num_priors: int = 0,
    rtol: float = 1e-9,
) -> Float[np.ndarray, "p p"]:
    """Covariance of the unknowns that allows for autocorrelated residuals of varying strength.

    The weights `1 - lag / (lags + 1)` are those of Bartlett; the whole is multiplied by
    `n / (n - p)`. Only identified directions count ([`jaxspark.fit.Information`][]).

    **Arguments:**

    - `J`: derivative of the weighted residuals, `r`, by the unknowns, shape `(n, p)`; for instance
        `J` of [`jaxspark.fit.Rows`][].
    - `r`: weighted residuals, those of priors last, shape `(n,)`.
    - `lags`: over how many samples residuals may be correlated; 0 for varying strength alone.
    - `segments`: lengths of runs of consecutive samples, such as a channel of a trial: no lag
        crosses their ends. Their sum is the number of data. Default: one run.
    - `num_priors`: how many rows, at the end, are those of priors. They are independent, of
        variance 1.
    - `rtol`: singular values below this share of the largest are null directions.

    **Returns:** the covariance, shape `(p, p)`. It scales with the residuals: do not multiply it by
    a variance.

    **Raises:** `ValueError` for runs that do not add up, negative `lags`, or too few data.

    Source: W. K. Newey & K. D. West, *A simple, positive semi-definite, heteroskedasticity and
    autocorrelation consistent covariance matrix*.
    """
    data = r.size - num_priors
    runs = [data] if segments is None else [int(length) for length in segments]
    if sum(runs) != data or min(runs, default=0) < 0:
        raise ValueError(
            f"segments add up to {sum(runs)} samples; there are {data} data "
            f"({r.size} residuals, {num_priors} of them of priors)."
        )
    if lags < 0:
        raise ValueError(f"lags must not be negative; got {lags}.")
    rank, factor, scores, by_priors = _influence(J, r, num_priors, rtol)
    spread, first = by_priors, 0
    for length in runs:
        spread += data / (data - rank) * _bartlett(scores[first : first + length], lags)
        first += length
    return factor @ spread @ factor.T


def clustered(
    J: Float[np.ndarray, "n p"],
    r: Float[np.ndarray, " n"],
    clusters: Int[np.ndarray, " m"],
    *,
    num_priors: int = 0,
    rtol: float = 1e-9,
) -> Float[np.ndarray, "p p"]:
    """Covariance of the unknowns for residuals that are correlated within clusters in any way.

    Different clusters, such as windows of a record with starts of their own, are taken for
    independent. The whole is multiplied by `k / (k - 1) (n - 1) / (n - p)`, `k` being the number of
    clusters. It says nothing about unknowns that belong to few clusters, such as the start of one
    window.

    **Arguments:**

    - `J`, `r`, `num_priors`, `rtol`: as for [`jaxspark.fit.newey_west`][].
    - `clusters`: the number of the cluster of each datum, shape `(n - num_priors,)`.

    **Returns:** the covariance, shape `(p, p)`. It scales with the residuals: do not multiply it by
    a variance.

    **Raises:** `ValueError` for numbers that do not belong to the data, fewer than two clusters, or
    too few data.

    Source: K.-Y. Liang & S. L. Zeger, *Longitudinal data analysis using generalized linear models*;
    A. C. Cameron & D. L. Miller, *A practitioner's guide to cluster-robust inference* (2015),
    section II, with the finite-sample factor there.
    """
    data = r.size - num_priors
    if np.shape(clusters) != (data,):
        raise ValueError(
            f"clusters must have one number for each of {data} data; their shape is "
            f"{np.shape(clusters)}."
        )
    numbers, of = np.unique(clusters, return_inverse=True)
    if numbers.size < 2:
        raise ValueError("There is one cluster: its residuals do not tell how clusters differ.")
    rank, factor, scores, by_priors = _influence(J, r, num_priors, rtol)
    sums = np.zeros((numbers.size, factor.shape[1]))
    np.add.at(sums, of, scores)
    few = numbers.size / (numbers.size - 1) * (data - 1) / (data - rank)
    return factor @ (by_priors + few * sums.T @ sums) @ factor.T


def _influence(J: np.ndarray, r: np.ndarray, num_priors: int, rtol: float):
    """The rank; `F` with `F F^T` the covariance for unit variance; scores; those of priors squared.

    Scores are the rows of `J F`, times the residuals: unknowns move by `-F` times their sum.
    """
    found, data = information(J, rtol=rtol), r.size - num_priors
    if data <= found.rank:
        raise ValueError(f"there are {data} data and {found.rank} unknowns: too few data.")
    factor = found.factor
    influence = np.asarray(J, np.float64) / found.scale @ (factor * found.scale[:, None])
    by_priors = influence[data:].T @ influence[data:]
    return found.rank, factor, influence[:data] * r[:data, None], by_priors


def _bartlett(scores: Float[np.ndarray, "n k"], lags: int) -> Float[np.ndarray, "k k"]:
    """Lagged products with Bartlett's weights, as those of sums over `lags + 1` samples.

    The cost does not depend on `lags`, and the result is positive semidefinite.
    """
    if not lags or not len(scores):
        return scores.T @ scores
    total = np.cumsum(np.concatenate([np.zeros((1, scores.shape[1])), scores]), axis=0)
    ends = np.arange(1, len(scores) + lags + 1)
    sums = total[np.minimum(ends, len(scores))] - total[np.maximum(ends - lags - 1, 0)]
    return sums.T @ sums / (lags + 1)
