"""Profile likelihood: how well the others can make up for one parameter."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Bool, Float

from ._compile import compiled
from ._findings import Profile
from ._fit import Fit
from ._levenberg import run
from ._parametrisation import Parametrisation
from ._problem import Problem
from ._proposal import Options
from ._spread import each


# How far values that are held may give way, in standard errors.
HOLD = 0.03
# Iterations of one fit.
MOST = 40


class Held(Parametrisation):
    """Parameters of which one physical value is held, that depends on several coordinates.

    By a prior so narrow that little is left to the data. Where the sum of all squares is least
    the loss without it is the least of all with this value: the profile is exact at the value
    reached, which is `HOLD^2` of the way short of the target.
    """

    target: Float[Array, "..."]
    width: Float[Array, "..."]
    index: int = eqx.field(static=True)

    def prior_residuals(self, u: Float[Array, " p"]) -> Float[Array, " m"]:
        return jnp.append(super().prior_residuals(u), self.off(u))

    def off(self, u: Float[Array, " p"]) -> Float[Array, ""]:
        """How far the value is from the target, in widths."""
        return (self.physical(u)[self.index] - self.target) / self.width


def profile(
    fit: Fit, name: str, *, points: int = 15, width: float = 4.0, level: float = 0.95
) -> Profile:
    """The profile likelihood of one parameter, all points at once.

    The points are split over the devices of the fit. The physical value is held, also where it
    depends on several coordinates, as the inertia of a body does.

    **Arguments:**

    - `fit`: a [`jaxspark.fit.Fit`][] that converged.
    - `name`: the name of the parameter, one of `fit.names`.
    - `points`: number of values at which the others are fitted anew.
    - `width`: how far these values go to either side, in standard errors.
    - `level`: the confidence level of the interval.

    **Returns:** a [`jaxspark.fit.Profile`][]; its interval is open (NaN) on a side where the
    deviance stays below the threshold. Where a fit fails the deviance is NaN.

    **Raises:** `ValueError` for an unknown name.

    Source: D. M. Bates & D. G. Watts, *Nonlinear Regression Analysis and Its Applications*
    (1988), chapter 6.
    """
    if name not in fit.names:
        raise ValueError(f"There is no parameter {name!r}; there are {', '.join(fit.names)}.")
    state, index = fit.state, fit.names.index(name)
    slope = np.zeros(fit.problem.size)
    slope[: fit.problem.shared.size] = fit.uncertainty.dphysical[index]
    steps = np.linspace(-width, width, points)
    if np.count_nonzero(slope) == 1 and slope[index]:
        found = _coordinate_held(fit, index, steps)
    else:
        found = _value_held(fit, index, slope, steps)
    loss = np.asarray(jnp.where(found.done, found.loss, jnp.nan))
    deviance = 2 * (loss - float(state.found.loss)) / fit.uncertainty.variance
    grid = np.asarray(found.values)
    threshold = float(scipy.stats.t.ppf(0.5 + level / 2, fit.uncertainty.dof) ** 2)
    low, high = _crossings(grid, deviance, threshold)
    return Profile(name, fit.problem.shared.units[index], grid, deviance, threshold, low, high)


class _Fits(eqx.Module):
    """One fit for each point: the value that is held, the loss, whether it converged."""

    values: Float[Array, "*points"]
    loss: Float[Array, "*points"]
    done: Bool[Array, "*points"]


def _whole(fit: Fit) -> Problem:
    """The problem with all trials on one device: points are what is split."""
    return dataclasses.replace(fit.problem, mesh=None)


def _coordinate_held(fit: Fit, index: int, steps: Float[np.ndarray, " points"]) -> _Fits:
    """Fits with values that depend on one coordinate: it is held."""
    problem, u = _whole(fit), jnp.asarray(fit.state.u)
    offsets, along = _linear(fit, np.eye(problem.size)[index], steps)
    starts = u[None, :] + jnp.asarray(offsets[:, None] * along[None, :], u.dtype)
    starts = starts.at[:, index].set(u[index] + offsets.astype(u.dtype))
    free = fit.options.free & (jnp.arange(problem.size) != index)
    options = Options(jnp.ones_like(fit.options.known), free)
    held = jnp.asarray(index)
    return _with_coordinates(problem, starts, fit.state.sigma, options, held, fit.problem.mesh)


def _value_held(
    fit: Fit, index: int, slope: Float[np.ndarray, " p"], steps: Float[np.ndarray, " points"]
) -> _Fits:
    """Fits with values that depend on several coordinates, as of bodies; see [`Held`][]."""
    problem, u = _whole(fit), jnp.asarray(fit.state.u)
    offsets, along = _linear(fit, slope, steps)
    starts = u[None, :] + jnp.asarray(offsets[:, None] * along[None, :], u.dtype)
    targets = jnp.asarray(fit.uncertainty.values[index] + offsets, u.dtype)
    width = jnp.asarray(HOLD * np.max(np.abs(offsets)) / np.max(np.abs(steps)), u.dtype)
    fields = {f.name: getattr(problem.shared, f.name) for f in dataclasses.fields(problem.shared)}
    shared = Held(**fields, target=targets[0], width=width, index=index)
    held = eqx.tree_at(lambda p: p.shared, problem, shared)
    options = Options(jnp.ones_like(fit.options.known), fit.options.free)
    return _with_values(held, targets, starts, fit.state.sigma, options, fit.problem.mesh)


def _linear(
    fit: Fit, slope: Float[np.ndarray, " p"], steps: Float[np.ndarray, " points"]
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " p"]]:
    """Offsets of a quantity with this gradient, and where all would go if the model were linear.

    In standard errors; where the data do not tell it, as far as its coordinates are of order one.
    """
    towards = fit.uncertainty.covariance @ slope
    variance = float(slope @ towards)
    if np.isfinite(variance) and variance > 0:
        return steps * np.sqrt(variance), towards / variance
    size = np.linalg.norm(slope) or 1.0
    return steps / np.max(np.abs(steps)) * size, slope / size**2


@compiled
def _with_coordinates(problem: Problem, starts, sigma, options: Options, index, mesh) -> _Fits:
    def one(shared, u):
        problem, sigma, options, index = shared
        state = run(problem, u, sigma, options, MOST)
        value = problem.shared.physical(state.u[: problem.shared.size])[index]
        return _Fits(value, state.found.loss, state.done)

    return each(one, mesh, (problem, sigma, options, index), starts)


@compiled
def _with_values(problem: Problem, targets, starts, sigma, options: Options, mesh) -> _Fits:
    def one(shared, target, u):
        problem, sigma, options = shared
        shared = eqx.tree_at(lambda shared: shared.target, problem.shared, target)
        state = run(eqx.tree_at(lambda p: p.shared, problem, shared), u, sigma, options, MOST)
        u = state.u[: shared.size]
        loss = state.found.loss - 0.5 * shared.off(u) ** 2
        return _Fits(shared.physical(u)[shared.index], loss, state.done)

    return each(one, mesh, (problem, sigma, options), targets, starts)


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
