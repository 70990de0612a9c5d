"""Posterior densities for samplers, and fits by stochastic gradients."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxspark
import swings
from jaxspark import fit
from jaxspark.fit._evaluate import weighted
from jaxspark.fit._log_density import loss
from jaxspark.fit._sensitivities import sensitivities
from jaxspark.fit._shooting import shooting_problem
from jaxspark.fit._stochastic import batch_loss


# Compiles for minutes in all.
pytestmark = pytest.mark.thorough


def spring(t, y, z, args):
    """A spring that stiffens, and a damper."""
    del t
    return -args["stiffness"] * (y + 0.2 * y**3) - args["damping"] * z


def position(t, y, z, lam, psi, args):
    del t, z, lam, psi, args
    return {"x": y[0]}


SPRING = jaxspark.ConstrainedSystem(spring)
TIMES = np.linspace(0, 4, 81)
TRUTH = {"damping": 0.3, "stiffness": 9.0}


def model():
    parameters = {
        "stiffness": fit.positive(8.0, "N/m"),
        "damping": fit.real(0.5, prior=fit.Normal(0.5, 0.5)),
    }
    start = fit.Start(np.array([0.9]), np.array([0.2]))
    return fit.Model(SPRING, position, parameters, start, step=0.05, noise={"x": 0.02})


@pytest.fixture(scope="module")
def record():
    solution = jaxspark.rollout(
        SPRING, np.array([1.0]), np.array([0.0]), TRUTH, method=jaxspark.Gauss(3), ts=TIMES
    )
    noise = 0.02 * np.random.default_rng(0).standard_normal(81)
    return fit.record(TIMES, {"x": solution.ys[:, 0] + noise})


@pytest.fixture(scope="module")
def found(record):
    return fit.estimate(model(), record, progress=False)


@pytest.fixture(scope="module")
def density(found):
    """The density, its gradient in reverse, its derivative forward, and its Hessian: compiled."""
    function = fit.log_density(found)
    return tuple(
        map(jax.jit, (function, jax.grad(function), jax.jacfwd(function), jax.hessian(function)))
    )


U = np.array([-0.2, 0.1, 0.02, -0.05])


def differences(function, u, h=1e-5):
    moves = h * np.eye(u.size)
    columns = [
        (function(jnp.asarray(u + d)) - function(jnp.asarray(u - d))) / (2 * h) for d in moves
    ]
    return np.stack(columns, -1)


def test_density_and_its_derivatives(found, density):
    value, reverse, forward, hessian = density
    u = jnp.asarray(U)
    np.testing.assert_allclose(value(found.state.u), -found.history[-1], rtol=1e-12)
    # At the estimate it is greatest: the gradient is small against that of one standard error.
    errors = np.sqrt(np.diag(found.uncertainty.covariance))
    assert np.max(abs(reverse(found.state.u) * errors)) <= 1e-3
    gradient = reverse(u)
    size = np.max(abs(gradient))
    np.testing.assert_allclose(forward(u), gradient, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(gradient, differences(value, U), rtol=0, atol=1e-7 * size)
    second = hessian(u)
    size = np.max(abs(second))
    np.testing.assert_allclose(second, second.T, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(second, differences(reverse, U), rtol=0, atol=1e-6 * size)
    # Where the residuals are small it is minus the information.
    information = np.linalg.inv(found.uncertainty.covariance)
    size = np.sqrt(np.diag(information))
    at_estimate = -np.asarray(hessian(found.state.u)) / size / size[:, None]
    np.testing.assert_allclose(at_estimate, information / size / size[:, None], atol=0.05)


def test_density_in_batches(found, density):
    function = fit.log_density(found)
    batch = jnp.asarray(U)[None, :] * jnp.array([0.0, 0.5, 1.0])[:, None]
    values = jax.jit(jax.vmap(function))(batch)
    np.testing.assert_allclose(values, [density[0](u) for u in batch], rtol=1e-12)


def test_density_of_a_simulation_that_fails():
    # Of a pendulum, whose start cannot be so far along the tangent of its circle.
    times = np.linspace(0, 0.2, 5)
    record = swings.record(times, 1.0, 0.0, 1)
    parts = swings.model((1.1, 0.3), noise=swings.NOISE)
    with pytest.raises(fit.FitError) as caught:
        fit.estimate(parts, record, max_iterations=1, progress=False)
    function = jax.jit(fit.log_density(caught.value.fit))
    u = caught.value.fit.state.u
    assert jnp.isfinite(function(u)) and jnp.isneginf(function(u.at[2].set(3.0)))


@pytest.fixture(scope="module")
def windows(record):
    return shooting_problem(model(), [record], 0.5, np.array([0.02]))


def test_mean_over_windows_is_the_whole_loss(windows):
    sigma, jump = jnp.array([0.02]), 50.0
    rng = np.random.default_rng(1)
    u = windows.start + 0.1 * rng.standard_normal(windows.size)
    one = jax.jit(lambda k: batch_loss(windows, u, k[None], sigma, jump))
    each = np.array([one(k) for k in jnp.arange(8)])
    assert windows.num_trials == 8 and len(windows.links) == 7
    # The loss of all trials, and the squares of all jumps.

    def both(u):
        evaluation = weighted(windows, u, sigma, sensitivities(windows, u))
        return evaluation, loss(windows, u, sigma)

    found, whole = jax.jit(both)(u)
    ends, starts = found.ends[:-1, :, -1], found.starts[1:, :, -1]
    assert np.max(abs(ends - starts)) > 0.1
    expected = whole + 0.5 * jump * np.sum((ends - starts) ** 2)
    np.testing.assert_allclose(np.mean(each), expected, rtol=1e-12)
    # So it is over larger batches.
    four = jax.jit(lambda k: batch_loss(windows, u, k, sigma, jump))
    halves = [four(jnp.array([0, 2, 5, 7])), four(jnp.array([1, 3, 4, 6]))]
    np.testing.assert_allclose(np.mean(halves), expected, rtol=1e-12)


def test_noise_and_jumps_of_stochastic_fits(record):
    made = dataclasses.replace(model(), noise=None)
    with jax.numpy_dtype_promotion("standard"):
        found = fit.stochastic(
            made, record, window=0.5, steps=300, batch=4, optimizer=optax.adam(0.02), jump=1e3,
            progress=False,
        )  # fmt: skip
    # A tenth of the standard deviation of the channel would be 0.06.
    assert abs(found.sigma["x"] - 0.02) <= 0.006
    findings = found.findings()
    jumps, distance = findings.warnings
    number = float(re.search("the largest jump .* is ([0-9.e-]+), in record", jumps)[1])
    ends, starts = found.state.found.ends, found.state.found.starts
    largest = float(np.max(abs(ends[:-1, :, -1] - starts[1:, :, -1])))
    assert number == pytest.approx(largest, rel=1e-2)
    # Errors reach as far as the estimate that is where the loss is least.
    best = fit.estimate(made, record, progress=False)
    told = found.uncertainty
    assert np.all(told.errors >= 0.5 * best.uncertainty.errors)
    assert np.all(abs(found.vector - best.vector) <= 2 * told.errors)
    assert "has not converged" in distance and np.isfinite(told.dof)


def test_stochastic_gradients_approach_the_estimate(found, record):
    optimizer = optax.adam(0.02)
    options = {"window": 0.5, "batch": 4, "optimizer": optimizer, "jump": 1e3, "progress": False}
    # Optax multiplies numbers of different types.
    with jax.numpy_dtype_promotion("standard"):
        near = fit.stochastic(model(), record, steps=300, **options)
        again = fit.stochastic(model(), record, steps=20, **options)
        other = fit.stochastic(model(), record, steps=20, seed=1, **options)
    assert len(near.history) == 300 and not near.converged
    # Windows of noise of their own make the loss waver around that of the whole.
    assert np.mean(near.history[:3]) >= 5 * found.history[-1]
    assert np.mean(near.history[-50:]) <= 1.2 * found.history[-1]
    before = abs(np.array([0.5, 8.0]) - found.vector)
    assert np.all(abs(near.vector - found.vector) <= 0.2 * before)
    assert again.history == near.history[:20] != other.history
    # From there it is not far.
    rest = fit.estimate(model(), record, start=near.parameters(), progress=False)
    np.testing.assert_allclose(rest.vector, found.vector, rtol=1e-5)


def test_stochastic_fits_refuse(record):
    options = {"window": 0.5, "steps": 5, "progress": False}
    for name in ("steps", "batch"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            fit.stochastic(model(), record, **{**options, name: 0})
    with pytest.raises(fit.DataError):
        fit.stochastic(model(), [], **options)
