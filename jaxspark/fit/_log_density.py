"""The posterior density of the unknowns, for samplers."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from ._fit import Fit
from ._predict import predict_trial, Prediction
from ._problem import Data, Problem
from ._spread import each, mesh_of


def log_density(fit: Fit, *, devices: Any = None) -> Callable[[Float[Array, " p"]], FloatScalar]:
    """The logarithm of the posterior density, up to a constant, for instance for blackjax.

    **Arguments:**

    - `fit`: a [`jaxspark.fit.Fit`][] without windows, of which the model, the records and the noise
        (`fit.sigma`) are taken.
    - `devices`: to split the trials over, as for [`jaxspark.fit.estimate`][]. For several chains
        [`jaxspark.batch.over_devices`][] of a density without them is better.

    **Returns:** a function of the vector of all unknowns, shape `(p,)`, which is `fit.state.u` at
    the estimate: the coordinates without bounds of the parameters, then those of starts. Parameters
    without a prior are uniform in these coordinates. It can be differentiated, forward and reverse,
    compiled and batched; where the simulation fails it is minus infinity.

    **Raises:** `ValueError` for a fit with windows. That these join is a constraint, which a
    density of all unknowns cannot have: without it each window would go its own way.
    """
    if fit.problem.links:
        raise ValueError(
            "log_density: this fit has windows, whose starts are tied by continuity and are no "
            "free unknowns. Estimate again without window=, with start=fit.vector, the values "
            "found, and take the density of that fit."
        )
    problem = dataclasses.replace(fit.problem, mesh=mesh_of(devices))
    sigma = jnp.asarray(fit.state.sigma)

    def density(u: Float[Array, " p"]) -> FloatScalar:
        return -loss(problem, u, sigma)

    return density


def loss(problem: Problem, u: Float[Array, " p"], sigma: Float[Array, " channels"]) -> FloatScalar:
    """Half the sum of all weighted squares, priors included; infinite where a trial fails."""
    local = u[problem.local()]

    def of_trial(shared, x, at, data):
        problem, sigma = shared
        found = predict_trial(problem, x, at, data)
        return trial_loss(problem, found, data, sigma), found.good

    operands = local, problem.tangents, problem.data
    cost, good = each(of_trial, problem.mesh, (problem, sigma), *operands)
    prior = problem.shared.prior_residuals(u[: problem.shared.size])
    total = jnp.sum(cost) + 0.5 * jnp.sum(prior**2)
    return jnp.where(jnp.all(good), total, jnp.inf)


def trial_loss(
    problem: Problem, found: Prediction, data: Data, sigma: Float[Array, " channels"]
) -> FloatScalar:
    """The loss of one trial, priors apart."""
    difference = jnp.where(data.present, found.values - data.measured, 0)
    each = problem.model.loss.rho((difference / sigma[None, :]) ** 2)
    return 0.5 * jnp.sum(jnp.where(data.present, each, 0))
