"""Profile likelihood: how well the others can make up for one parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from ._compile import compiled
from ._findings import Profile
from ._fit import Fit
from ._levenberg import Options, run
from ._problem import Problem


def profile(
    fit: Fit, name: str, *, points: int = 15, width: float = 4.0, level: float = 0.95
) -> Profile:
    """The profile likelihood of one parameter, all points at once.

    **Arguments:**

    - `fit`: a fit that converged.
    - `name`: of the parameter, one of `fit.names`.
    - `points`: number of values at which the others are fitted anew.
    - `width`: how far these go, in standard errors.
    - `level`: of the interval.

    **Returns:** a [`jaxspark.fit.Profile`][]; its interval is open (NaN) on a side where the
    deviance stays below the threshold. Where a fit fails the deviance is NaN.

    **Raises:** `ValueError` for an unknown name.

    Source: D. M. Bates & D. G. Watts, *Nonlinear Regression Analysis and Its Applications*
    (1988), chapter 6.
    """
    if name not in fit.names:
        raise ValueError(f"There is no parameter {name!r}; there are {', '.join(fit.names)}.")
    problem, state, index = fit.problem, fit.state, fit.names.index(name)
    covariance = fit.uncertainty.covariance
    error = np.sqrt(covariance[index, index])
    if not (np.isfinite(error) and error > 0):
        error, along = 1.0 / width, np.eye(problem.size)[index]
    else:
        along = covariance[:, index] / covariance[index, index]
    offsets = np.linspace(-width, width, points) * error
    # From where the others would go if the model were linear.
    starts = jnp.asarray(state.u)[None, :] + jnp.asarray(offsets[:, None] * along[None, :])
    starts = starts.at[:, index].set(state.u[index] + offsets)
    free = fit.options.free & (jnp.arange(problem.size) != index)
    options = Options(jnp.ones_like(fit.options.known), free)
    found = _run(problem, starts, state.sigma, options)
    loss = np.asarray(jnp.where(found.done, found.found.loss, jnp.nan))
    deviance = 2 * (loss - float(state.found.loss)) / fit.uncertainty.variance
    grid = np.array([fit.problem.shared.physical(u[: problem.shared.size])[index] for u in found.u])
    threshold = float(scipy.stats.t.ppf(0.5 + level / 2, fit.uncertainty.dof) ** 2)
    low, high = _crossings(grid, deviance, threshold)
    return Profile(name, fit.problem.shared.units[index], grid, deviance, threshold, low, high)


@compiled
def _run(problem: Problem, starts, sigma, options: Options):
    return jax.vmap(lambda u: run(problem, u, sigma, options, 40))(starts)


def _crossings(grid: np.ndarray, deviance: np.ndarray, threshold: float) -> tuple[float, float]:
    """Where the deviance passes the threshold, left and right of its minimum.

    The signed root of the deviance is nearly straight.
    """
    root = np.sqrt(np.maximum(deviance, 0)) - np.sqrt(threshold)
    if not np.isfinite(deviance).any():
        return float("nan"), float("nan")
    centre = int(np.nanargmin(deviance))

    def crossing(order: np.ndarray) -> float:
        for a, b in zip(order[:-1], order[1:]):
            if np.isfinite(root[a]) and np.isfinite(root[b]) and root[a] <= 0 < root[b]:
                share = root[a] / (root[a] - root[b])
                return float(grid[a] + share * (grid[b] - grid[a]))
        return float("nan")

    left = crossing(np.arange(centre, -1, -1))
    right = crossing(np.arange(centre, grid.size))
    # Decreasing transforms turn the grid around.
    return (left, right) if grid[0] <= grid[-1] else (right, left)
