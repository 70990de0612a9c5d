"""Weighted residuals and their Jacobian, one row for each sample."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ._fit import Fit


class Rows(NamedTuple):
    """Residuals of all samples that are not missing, and their derivative.

    It is `rows` of a [`jaxspark.fit.Fit`][]. A robust loss has no part in it, and priors have no
    rows.

    - `r`: prediction minus measurement, in standard deviations, shape `(n,)`.
    - `J`: the derivative of `r` by the `i` independent unknowns, shape `(n, i)`: the coordinates of
        the parameters without bounds, and then the tangent coordinates of the starts of records. A
        coordinate belongs to the parameter at its place in `fit.names`, but for bodies, whose
        values depend on several: `fit.uncertainty.dphysical` is the derivative of these.
    - `runs`: lengths of runs of rows, one for each channel of each record, in the order of time.
    - `windows`: the number of the window, or of the record if there are no windows, to which each
        row belongs, shape `(n,)`.
    """

    r: Float[np.ndarray, " n"]
    J: Float[np.ndarray, "n i"]
    runs: tuple[int, ...]
    windows: Int[np.ndarray, " n"]


def weighted_rows(fit: Fit, spread: Float[np.ndarray, "p i"]) -> Rows:
    """The rows of a fit.

    **Arguments:**

    - `spread`: how all unknowns follow from the independent ones.
    """
    problem = fit.problem
    found, slopes = fit.prediction, fit.sensitivities.jacobian
    sigma = np.asarray(fit.state.sigma, np.float64)
    off = np.asarray(found.values - problem.data.measured) / sigma
    J = np.asarray(slopes, np.float64) / sigma[:, None]
    present, local = np.asarray(problem.data.present), problem.local()
    r, rows, runs = [np.zeros(0)], [np.zeros((0, spread.shape[1]))], []
    windows = [np.zeros(0, int)]
    owners = np.asarray(problem.owners)
    for owner in np.unique(owners):
        for j in range(sigma.size):
            runs.append(0)
            for k in np.flatnonzero(owners == owner):
                there = present[k, :, j]
                r.append(off[k, there, j])
                rows.append(J[k, there, j] @ spread[local[k]])
                windows.append(np.full(r[-1].size, k))
                runs[-1] += r[-1].size
    return Rows(np.concatenate(r), np.concatenate(rows), tuple(runs), np.concatenate(windows))
