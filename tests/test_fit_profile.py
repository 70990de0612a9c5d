"""Profile likelihoods and fits from many starts, of an oscillator."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxspark
from jaxspark import fit


# Compiles for minutes in all.
pytestmark = pytest.mark.thorough


TIMES = np.linspace(0, 6, 61)


def spring(t, y, z, args):
    del t, z
    return -args["stiffness"] * y


def sensor(t, y, z, lam, psi, args):
    del t, z, lam, psi
    return {"x": args["gain"] * y[0] + args["offset"]}


OSCILLATOR = jaxspark.ConstrainedSystem(spring)


def model(**parameters):
    start = fit.Start(np.array([1.0]), np.array([0.0]), unknown="nothing")
    given = {"stiffness": fit.fixed(9.0), "gain": 1.0, "offset": 0.0, **parameters}
    return fit.Model(OSCILLATOR, sensor, given, start, step=0.1, method=jaxspark.Gauss(3))


def record(sigma):
    noise = np.random.default_rng(3).standard_normal(TIMES.size)
    return fit.record(TIMES, {"x": 1.4 * np.cos(3 * TIMES) - 0.3 + sigma * noise})


@pytest.fixture(scope="module")
def linear():
    """Residuals are linear in the gain and the offset of the sensor."""
    made = model(gain=fit.real(1.0), offset=fit.real(0.5, "m"))
    return fit.estimate(made, record(0.1), progress=False)


@pytest.fixture(scope="module")
def regression():
    """Estimate, errors and degrees of freedom by the normal equations."""
    X = np.stack([np.cos(3 * TIMES), np.ones(61)], 1)
    y = record(0.1).channels["x"]
    best, squares = np.linalg.lstsq(X, y)[:2]
    return best, np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * squares[0] / 59)


def test_linear_regression(linear, regression):
    assert linear.names == ("gain", "offset")
    np.testing.assert_allclose(linear.vector, regression[0], rtol=1e-6)
    np.testing.assert_allclose(linear.uncertainty.errors, regression[1], rtol=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_profile_of_a_linear_parameter(linear, regression, level):
    found = fit.profile(linear, "offset", points=9, width=3.0, level=level)
    best, error = regression[0][1], regression[1][1]
    assert (found.name, found.unit) == ("offset", "m")
    np.testing.assert_allclose(found.grid, best + error * np.linspace(-3, 3, 9), rtol=1e-5)
    # A parabola: the others make up for what they can.
    np.testing.assert_allclose(found.deviance, np.linspace(-3, 3, 9) ** 2, rtol=1e-6, atol=1e-6)
    half = scipy.stats.t.ppf(0.5 + level / 2, 59)
    np.testing.assert_allclose(found.threshold, half**2, rtol=1e-12)
    np.testing.assert_allclose(
        [found.low, found.high], best + half * error * np.array([-1, 1]), rtol=1e-4
    )
    (estimate,) = [e for e in linear.findings(level=level).estimates if e.name == "offset"]
    np.testing.assert_allclose([found.low, found.high], [estimate.low, estimate.high], rtol=1e-4)


def test_profile_that_does_not_reach_the_threshold(linear):
    found = fit.profile(linear, "offset", points=9, width=1.0)
    assert np.isnan(found.low) and np.isnan(found.high)
    with pytest.raises(ValueError, match="no parameter 'mass'; there are gain, offset"):
        fit.profile(linear, "mass")


@pytest.fixture(scope="module")
def far():
    """Of a stiffness from which the way to the truth, 9, goes through other minima."""
    made = model(gain=1.4, offset=-0.3, stiffness=fit.positive(4.0, "N/m"))
    return made, record(0.1)


def test_many_starts_find_what_one_does_not(far):
    best, reached = fit.multistart(*far, count=12, spread=0.8, seed=1)
    single = fit.estimate(*far, progress=False, throw=False)
    assert abs(single.values["stiffness"] - 9.0) > 1
    assert abs(best.values["stiffness"] - 9.0) <= 4 * best.uncertainty.errors[0]
    assert best.converged and best.sigma["x"] <= 0.12
    minus_log = lambda found: found.history[-1]
    assert reached.shape == (12,)
    np.testing.assert_allclose(np.min(reached), minus_log(best), rtol=1e-10)
    if np.isfinite(reached[0]):
        np.testing.assert_allclose(reached[0], minus_log(single), rtol=1e-6)
    assert np.min(reached) <= minus_log(single) - 10
    # The same random numbers lead to the same.
    again = fit.multistart(*far, count=12, spread=0.8, seed=1)
    np.testing.assert_array_equal(again[1], reached)
    assert again[0].values == best.values


def test_no_start_converges(far):
    with pytest.raises(
        fit.FitError, match="None .* converged.*1 iteration: allow more .max_it"
    ) as at:
        fit.multistart(*far, count=2, max_iterations=1)
    assert at.value.fit is not None and not at.value.fit.converged
    for options in ({"count": 0}, {"max_iterations": 0}):
        (name,) = options
        with pytest.raises(ValueError, match=f"{name} must be a whole number, at least 1"):
            fit.multistart(*far, **options)
    blind = dataclasses.replace(far[0], observe=lambda *at: {"x": jnp.sqrt(-1 - at[1][0] ** 2)})
    with pytest.raises(fit.FitError, match="None of the 2 starts has a value.*channel x is nan"):
        fit.multistart(blind, far[1], count=2, max_iterations=1)


def test_a_falling_coordinate_turns_the_profile(far):
    # Below an upper bound the coordinate may fall as the value rises.
    made = model(gain=1.4, offset=-0.3, stiffness=fit.bounded(9.5, upper=20.0))
    found = fit.estimate(made, far[1], progress=False)
    profile = fit.profile(found, "stiffness", points=9)
    assert profile.low < found.values["stiffness"] < profile.high
    error = found.uncertainty.errors[0]
    half = float(scipy.stats.t.ppf(0.975, 60))
    assert jnp.isfinite(profile.deviance).all()
    # Nearly linear over so short an interval.
    np.testing.assert_allclose(
        [profile.low, profile.high],
        found.vector[0] + half * error * np.array([-1, 1]),
        rtol=0, atol=0.05 * error,
    )  # fmt: skip
