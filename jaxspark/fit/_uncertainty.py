"""How well the unknowns of a fit are known."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ._combinations import Directions, directions, relative_jacobian
from ._covariance import (
    column_lengths,
    correlation,
    delta,
    Information,
    information,
    RTOL,
    unidentifiable,
)
from ._evaluate import assembled_alone, continuity
from ._fit import Fit
from ._flat import is_flat, untold_by_means, untold_by_rounding
from ._problem import Problem
from ._robust import Squares


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How well the unknowns of a fit are known: `uncertainty` of a [`jaxspark.fit.Fit`][].

    Of its `p` unknowns `q` are coordinates of the parameters, and `i` are independent: those of the
    parameters, and of the starts of records.

    - `problem`: the problem of the fit.
    - `information`: the [`jaxspark.fit.Information`][] about the independent unknowns.
    - `spread`: how all unknowns follow from these, shape `(p, i)`.
    - `rows`: compressed rows of the Jacobian by the independent ones, shape `(m, i)`.
    - `variance`: that of the weighted residuals, one if the noise estimate is right.
    - `dof`: degrees of freedom of that estimate.
    - `dphysical`: derivative of the parameters' physical values by their coordinates, shape
        `(q, q)`.
    - `values`: the physical values, shape `(q,)`.
    - `remaining`: the step to the minimum of a fit that has not converged, shape `(p,)`; zero for
        others.
    - `silent`: which independent unknowns count as without effect, although their columns are
        not zero, shape `(i,)`.
    - `flat`: whether that is because the data show no motion beyond noise.
    - `rtol`: relative error of singular values, which depends on the precision.
    """

    problem: Problem
    information: Information
    spread: Float[np.ndarray, "p i"]
    rows: Float[np.ndarray, "m i"]
    variance: float
    dof: float
    dphysical: Float[np.ndarray, "q q"]
    values: Float[np.ndarray, " q"]
    remaining: Float[np.ndarray, " p"]
    silent: Bool[np.ndarray, " i"]
    flat: bool
    rtol: float

    @functools.cached_property
    def covariance(self) -> Float[np.ndarray, "p p"]:
        """Covariance of all unknowns, in their coordinates without bounds, shape `(p, p)`.

        For a fit that has not converged the square of the step to the minimum is added.
        """
        found = self.spread @ self.information.covariance(self.variance) @ self.spread.T
        return found + np.outer(self.remaining, self.remaining)

    @functools.cached_property
    def physical_covariance(self) -> Float[np.ndarray, "q q"]:
        """Covariance of the physical values of the parameters, shape `(q, q)`."""
        count = self.problem.shared.size
        return delta(self.covariance[:count, :count], self.dphysical)

    @property
    def identifiable(self) -> Bool[np.ndarray, " q"]:
        """Which parameters the data tell."""
        padded = np.zeros((self.dphysical.shape[0], self.spread.shape[0]))
        padded[:, : self.dphysical.shape[1]] = self.dphysical
        return self.tells(padded)

    def tells(self, slopes: Float[np.ndarray, "m p"]) -> Bool[np.ndarray, " m"]:
        """Which quantities the data tell, given their derivatives by all unknowns.

        **Arguments:**

        - `slopes`: the derivatives of `m` quantities, shape `(m, p)`.

        **Returns:** booleans, shape `(m,)`.
        """
        return ~unidentifiable(self.information, slopes @ self.spread)

    @property
    def errors(self) -> Float[np.ndarray, " q"]:
        """Standard errors of the parameters; infinite where the data do not tell them."""
        found = np.sqrt(np.diag(self.physical_covariance))
        return np.where(self.identifiable, found, np.inf)

    @property
    def correlation(self) -> Float[np.ndarray, "q q"]:
        """Correlation of the parameters' estimates, shape `(q, q)`."""
        return correlation(self.physical_covariance)

    @functools.cached_property
    def directions(self) -> Directions:
        """Which combinations of parameters the data tell, and how well.

        It is a [`jaxspark.fit.Directions`][].
        """
        shared, count = self.problem.shared, self.problem.shared.size
        lower, upper = (np.asarray(x) for x in shared.bounds())
        may_vanish = ~(np.isfinite(lower) | np.isfinite(upper))
        own = np.linalg.norm(self.dphysical, axis=1)
        scales = np.where(may_vanish | (self.values == 0), own, np.abs(self.values))
        scales = np.where(scales > 0, scales, 1.0)
        relative = relative_jacobian(self.rows[:, :count], self.dphysical, scales)
        return directions(
            shared.names, relative, self.rows[:, count:],
            variance=self.variance, scales=scales, additive=may_vanish, rtol=self.rtol,
        )  # fmt: skip


def uncertainty(fit: Fit) -> Uncertainty:
    """From the Jacobian at the estimate."""
    problem, found = fit.problem, fit.state.found
    A, b = (np.asarray(part, np.float64) for part in assembled_alone(problem, found))
    spread, closing = _independent(fit)
    rows = A @ spread
    shared = problem.shared
    u = fit.state.u[: shared.size]
    data = float(found.counts.sum())
    rtol = RTOL[np.dtype(fit.state.u.dtype).name]
    silent = np.zeros(rows.shape[1], bool)
    silent[: shared.size] = untold_by_rounding(fit, column_lengths(rows[:, : shared.size]))
    rows[:, silent] = 0.0
    of_order_one = np.arange(rows.shape[1]) < shared.size
    told = information(rows, rtol=rtol, of_order_one=of_order_one)
    # Priors add data of their own, one for each.
    priors = shared.prior_residuals(u).size
    dof = data + priors - told.rank
    known = bool(np.all(np.asarray(fit.options.known)))
    if not known and dof <= 0:
        raise ValueError(
            f"There are {data:g} samples for {told.rank} unknowns: nothing is left to estimate "
            "the noise from. Give the noise of the channels."
        )
    variance = 1.0 if known else 2 * float(found.loss) / dof
    if not isinstance(fit.model.loss, Squares):
        variance = _robust_variance(fit, data - told.rank)
    dof = np.inf if known else dof
    flat = is_flat(fit, told.rank)
    if flat:
        silent[: shared.size] |= untold_by_means(fit, spread, variance)
        rows[:, silent] = 0.0
        told = information(rows, rtol=rtol, of_order_one=of_order_one)
    remaining = np.zeros(problem.size)
    if not fit.converged:
        left = rows.T @ (b + A @ closing)
        remaining = closing - spread @ (told.factor @ (told.factor.T @ left))
    dphysical = np.asarray(jax.jacfwd(shared.physical)(u), np.float64)
    values = np.asarray(shared.physical(u), np.float64)
    return Uncertainty(
        problem, told, spread, rows, variance, dof, dphysical, values, remaining, silent, flat, rtol
    )


def _robust_variance(fit: Fit, dof: float) -> float:
    """What the inverse of the weighted information is to be multiplied with.

    Source: P. J. Huber, *Robust Statistics* (1981), section 7.6.
    """
    data, loss = fit.problem.data, fit.model.loss
    difference = (fit.prediction.values - data.measured) / fit.state.sigma[None, None, :]
    s = difference[data.present] ** 2
    weight, slope = jax.jvp(loss.weight, (s,), (jnp.ones_like(s),))
    # The derivative of `weight(r^2) r` by `r`.
    steepness = jnp.mean(weight + 2 * s * slope)
    return float(jnp.mean(weight) * jnp.sum(weight**2 * s) / (max(dof, 1) * steepness**2))


def _independent(fit: Fit) -> tuple[Float[np.ndarray, "p i"], Float[np.ndarray, " p"]]:
    """How all unknowns follow from the independent ones, and what closes the jumps.

    The starts of windows that go on where others end follow from what comes before.
    """
    problem = fit.problem
    everything = np.eye(problem.size)
    if not problem.links:
        return everything, np.zeros(problem.size)
    C, c = (np.asarray(part, np.float64) for part in continuity(problem, fit.state.found))
    starts = problem.local()[:, -problem.num_start :]
    dependent = starts[np.asarray(problem.links) + 1].ravel()
    free = np.setdiff1d(np.arange(problem.size), dependent)
    spread = everything[:, free]
    spread[dependent] = -np.linalg.solve(C[:, dependent], C[:, free])
    closing = np.zeros(problem.size)
    closing[dependent] = -np.linalg.solve(C[:, dependent], c)
    return spread, closing
