"""Estimates: recovered truth, what SciPy finds, noise, uncertainty, and failures in words."""

import contextlib
import dataclasses
import io
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import jaxspark
import swings
from jaxspark import fit
from jaxspark.fit._predict import predict


TIMES = np.linspace(0, 3, 61), np.linspace(0, 2, 41)
SWINGS = (1.0, 0.0), (0.5, 1.0)
TRUTH = np.array([0.3, 0.8])


def model(**options):
    options = {"method": jaxspark.Gauss(3), **options}
    return swings.model((1.1, 0.3), (0.4, 1.2), **options)


def records(seed=None):
    names = "slow", "fast"
    return [
        swings.record(times, *swing, None if seed is None else seed + k, names[k])
        for k, (times, swing) in enumerate(zip(TIMES, SWINGS))
    ]


def estimate(data, model=model(), **options):
    return fit.estimate(model, data, progress=False, **options)


@pytest.fixture(scope="module")
def noisy():
    return estimate(records(1))


def residuals(found, u):
    """In standard deviations, of all samples."""
    problem, sigma = found.problem, np.asarray(found.state.sigma)
    values = np.asarray(predict(problem, jnp.asarray(u)).values)
    weighted = (values - np.asarray(problem.data.measured)) / sigma
    return weighted[np.asarray(problem.data.present)]


def jacobian(found, u):
    moves = 1e-5 * np.eye(u.size)
    columns = [(residuals(found, u + d) - residuals(found, u - d)) / 2e-5 for d in moves]
    return np.stack(columns, 1)


def test_truth_is_recovered_without_noise():
    found = estimate(records())
    assert found.converged and found.names == ("drag", "length")
    np.testing.assert_allclose(found.vector, TRUTH, rtol=1e-8)
    assert found.values == dict(zip(found.names, found.vector.tolist()))
    tree = found.parameters(1)
    np.testing.assert_allclose([tree["drag"], tree["length"]], found.vector, rtol=1e-15)
    # The starts too.
    for k, (angle, rate) in enumerate(SWINGS):
        y, z = swings.state(angle, rate, length=0.8)
        np.testing.assert_allclose(found.prediction.y0[k], y, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.prediction.z0[k], z, rtol=0, atol=1e-7)
    # Of what is met exactly no long search for the last digit is made.
    assert int(found.state.iteration) <= 40


def test_estimate_is_that_of_scipy(noisy):
    start = np.asarray(noisy.problem.start)
    other = scipy.optimize.least_squares(
        lambda u: residuals(noisy, u), start, lambda u: jacobian(noisy, u),
        xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    u = np.asarray(noisy.state.u)
    errors = np.sqrt(np.diag(noisy.uncertainty.covariance))
    assert np.max(abs(u - other.x) / errors) <= 1e-5
    np.testing.assert_allclose(noisy.state.found.loss, other.cost, rtol=1e-10)
    # Minus the logarithm of the likelihood: that of the noise, too.
    spread = [
        np.std(np.concatenate([one.channels[name] for one in noisy.records]))
        for name in swings.NOISE
    ]
    share = 102 * (1 - 6 / 204)
    likelihood = other.cost + share * np.sum(np.log(noisy.state.sigma / np.array(spread)))
    np.testing.assert_allclose(noisy.history[-1], likelihood, rtol=1e-9)


def test_noise_is_estimated_by_channel(noisy):
    r = residuals(noisy, noisy.state.u)
    assert r.size == 204 and noisy.problem.size == 6
    difference = np.asarray(noisy.prediction.values - noisy.problem.data.measured)
    present = np.asarray(noisy.problem.data.present)
    for j, (name, sigma) in enumerate(swings.NOISE.items()):
        of_channel = difference[..., j][present[..., j]]
        assert of_channel.size == 102
        # The unknowns take their share of the degrees of freedom.
        expected = np.sqrt(np.sum(of_channel**2) / (102 * (1 - 6 / 204)))
        np.testing.assert_allclose(noisy.sigma[name], expected, rtol=1e-12)
        assert abs(noisy.sigma[name] / sigma - 1) <= 4 / np.sqrt(2 * 102)


def test_covariance(noisy):
    u, told = np.asarray(noisy.state.u), noisy.uncertainty
    J, r = jacobian(noisy, u), residuals(noisy, u)
    covariance = np.linalg.inv(J.T @ J) * (r @ r) / (204 - 6)
    size = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        told.covariance / size / size[:, None], covariance / size / size[:, None], atol=1e-7
    )
    assert told.dof == 198
    # Both are positive: an error of the logarithm is a relative one.
    np.testing.assert_allclose(told.errors, size[:2] * noisy.vector, rtol=1e-7)
    correlation = covariance[0, 1] / size[0] / size[1]
    np.testing.assert_allclose(told.correlation, [[1, correlation], [correlation, 1]], atol=1e-7)
    assert np.all(told.identifiable)
    assert np.all(abs(noisy.vector - TRUTH) <= 4 * told.errors)


def test_each_iteration_is_counted_once(noisy):
    count = int(noisy.state.iteration)
    assert len(noisy.history) == count
    assert noisy.message == f"Converged after {count} iterations."
    # What it estimates and the noise have more likelihood after each.
    assert np.all(np.isfinite(noisy.history)) and np.all(np.diff(noisy.history) <= 1e-9)
    text, page = fit.to_text(noisy.findings()), fit.to_html(noisy.findings())
    for words in (text, page):
        assert re.findall(r"(\d+) iterations?\b", words) == [str(count)]
    shown = progress_of(noisy)
    assert f"loss {noisy.history[-1]:.6g}" in shown and "inf" not in shown


def progress_of(found):
    """What the progress bar of the same fit shows."""
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown):
        again = fit.estimate(found.model, found.records)
    assert again.values == found.values
    return shown.getvalue()


def test_errors_are_named_as_values(noisy):
    assert list(noisy.errors) == list(noisy.values) == ["drag", "length"]
    np.testing.assert_array_equal(list(noisy.errors.values()), noisy.uncertainty.errors)
    values = f"drag = {noisy.values['drag']:.6g}, length = {noisy.values['length']:.6g}"
    expected = f'Fit("Parameter identification", 2 records; {values}; {noisy.message})'
    assert repr(noisy) == expected


def test_other_starts_lead_to_the_same(noisy):
    for start in (np.array([0.25, 0.75]), {"drag": 0.5, "length": jnp.asarray(0.85)}):
        other = estimate(records(1), start=start)
        assert other.history[0] != noisy.history[0]
        moved = abs(other.vector - noisy.vector)
        assert np.all(moved <= 1e-3 * noisy.uncertainty.errors)
    with pytest.raises(ValueError, match="length = -1 m is not possible"):
        estimate(records(1), start=np.array([0.3, -1.0]))


def test_too_few_iterations(noisy):
    with pytest.raises(fit.FitError, match="Not converged within 3 iterations") as caught:
        estimate(records(1), max_iterations=3)
    reached = caught.value.fit
    assert reached.history == noisy.history[:3] and not reached.converged
    # It can be looked at, and gone on from.
    more = estimate(records(1), start=reached.parameters())
    assert np.all(abs(more.vector - noisy.vector) <= 1e-3 * noisy.uncertainty.errors)
    assert estimate(records(1), max_iterations=3, throw=False).history == reached.history


def test_no_simulation_from_the_start():
    with pytest.raises(fit.FitError, match="cannot be simulated from the start") as caught:
        estimate(records(1), start=np.array([1e200, 0.8]))
    assert caught.value.fit is None
    blind = model(observe=lambda *at: {**swings.observe(*at), "rate": jnp.sqrt(-1 - at[1][0] ** 2)})
    with pytest.raises(fit.FitError, match='channel rate is nan at t = 0 s of record "slow"'):
        estimate(records(1), blind)


def test_message_of_a_fit_that_is_stuck(noisy):
    at = lambda state: (state.done, state.stuck)
    state = eqx.tree_at(at, noisy.state, (jnp.asarray(False), jnp.asarray(True)))
    stuck = dataclasses.replace(noisy, state=state)
    assert not stuck.converged
    assert "No step makes the residuals smaller" in stuck.message
    assert noisy.message == f"Converged after {int(noisy.state.iteration)} iterations."


def test_wrong_noise():
    with pytest.raises(ValueError, match="no channel 'speed'; there are angle, rate"):
        estimate(records(1), model(noise={"speed": 0.1}))
    for value in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="noise: angle must be positive"):
            estimate(records(1), model(noise={"angle": value}))


def heavy(t, y, z, args):
    """Of a bob whose mass is unknown too."""
    return args["mass"] * swings.lagrangian(t, y, z, args)


HEAVY = jaxspark.LagrangianSystem(heavy, holonomic=swings.rod, force=swings.drag)


def test_mass_of_a_free_pendulum_is_not_identifiable(noisy):
    # With the noise given, about as it was estimated.
    given = {"angle": 0.011, "rate": 0.05}
    parameters = {**swings.specs(), "mass": fit.positive(1.3, "kg")}
    found = estimate(records(1), model(system=HEAVY, parameters=parameters, noise=given))
    told = found.uncertainty
    assert found.sigma == given and told.variance == 1 and told.dof == np.inf
    np.testing.assert_array_equal(told.identifiable, [False, True, False])
    assert np.isposinf(told.errors[0]) and np.isposinf(told.errors[2])
    assert told.information.rank == 6
    drag, length, mass = found.vector
    # Other weights move the estimates by parts of their errors.
    others = noisy.uncertainty.errors
    assert abs(length - noisy.values["length"]) <= 0.5 * others[1]
    assert abs(drag / mass - noisy.values["drag"]) <= 0.5 * others[0]
    # Only the ratio is known, and it is known as well as before.
    untold, best = told.directions.combinations[0], told.directions.combinations[-1]
    assert untold.error == np.inf and np.isfinite(best.error)
    np.testing.assert_allclose(abs(untold.weights), [np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-6)
    assert untold.weights[0] * untold.weights[2] > 0
    findings = found.findings()
    assert findings.unidentifiable == ("drag and mass only through mass / drag",)
    alone = {one.name: one for one in findings.estimates}
    assert not alone["mass"].identifiable
    assert (alone["mass"].low, alone["mass"].high) == (0.0, np.inf)
    assert alone["length"].identifiable and alone["length"].low < length < alone["length"].high
    # With the noise known the errors are those of the weights alone.
    J = jacobian(found, np.asarray(found.state.u))
    length_error = np.sqrt(np.linalg.pinv(J.T @ J, rcond=1e-9)[1, 1]) * length
    np.testing.assert_allclose(alone["length"].error, length_error, rtol=1e-6)


def hanging(args):
    return args["length"] * jnp.stack(
        [jnp.zeros_like(args["length"]), -jnp.ones_like(args["length"])]
    )


def test_pendulum_at_rest_tells_nothing():
    rng = np.random.default_rng(2)
    noise = {name: sigma * rng.standard_normal(41) for name, sigma in swings.NOISE.items()}
    record = fit.record(TIMES[1], noise)
    start = fit.Start(hanging, jnp.zeros(2), unknown="nothing")
    found = estimate([record], model(start=start))
    assert found.converged
    np.testing.assert_array_equal(found.vector, [0.2, 0.9])
    assert not np.any(found.uncertainty.identifiable)
    assert np.all(np.isposinf(found.uncertainty.errors))
    for name, values in noise.items():
        np.testing.assert_allclose(found.sigma[name], np.sqrt(np.mean(values**2) * 82 / 80))
    findings = found.findings()
    assert all(one.error == np.inf for one in findings.combinations)
    assert findings.unidentifiable == (
        "drag has no effect on the measurements", "length has no effect on the measurements",
    )  # fmt: skip
    assert "no effect" in fit.to_text(findings)
    assert fit.to_json(fit.from_json(fit.to_json(findings))) == fit.to_json(findings)


def test_single_precision(noisy):
    with jax.enable_x64(False):
        found = estimate(records(1))
        assert found.state.u.dtype == jnp.float32 and found.converged
        errors = found.uncertainty.errors
    assert np.all(abs(found.vector - noisy.vector) <= 0.02 * noisy.uncertainty.errors)
    np.testing.assert_allclose(errors, noisy.uncertainty.errors, rtol=1e-3)
    np.testing.assert_allclose(found.history[-1], noisy.history[-1], rtol=1e-4)
