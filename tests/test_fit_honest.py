"""Fits say what the data do not tell, and how far errors can be trusted."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxspark
from jaxspark import fit
from jaxspark.fit._compile import compiled
from jaxspark.fit._evaluate import weighted
from jaxspark.fit._problem import make_problem
from jaxspark.fit._sensitivities import by_reverse, sensitivities


TIMES = np.linspace(0, 6, 121)


def spring(t, y, z, args):
    del t, z
    return -args["stiffness"] * y


OSCILLATOR = jaxspark.ConstrainedSystem(spring)


def model(observe, unknown="nothing", system=OSCILLATOR, noise=None, loss=None, **parameters):
    start = fit.Start(np.array([1.0]), np.array([0.0]), unknown=unknown)
    options = {} if loss is None else {"loss": loss}
    given = {"stiffness": 9.0, **parameters}
    return fit.Model(system, observe, given, start, step=0.1, noise=noise, **options)


def sensor(t, y, z, lam, psi, args):
    del t, z, lam, psi
    return {"x": args["gain"] * y[0] + args["offset"]}


def noise(seed, sigma=1.0):
    return sigma * np.random.default_rng(seed).standard_normal(TIMES.size)


def record(sigma, seed=3, name="record"):
    return fit.record(TIMES, {"x": 1.4 * np.cos(3 * TIMES) - 0.3 + noise(seed, sigma)}, name=name)


def estimate(made, data, **options):
    return fit.estimate(made, data, progress=False, **options)


@pytest.fixture(scope="module")
def linear():
    """Residuals are linear in the gain and the offset of the sensor."""
    return estimate(model(sensor, gain=fit.real(1.0), offset=fit.real(0.5, "m")), record(0.1))


X = np.stack([np.cos(3 * TIMES), np.ones(TIMES.size)], 1)


def test_density_refuses_windows(linear):
    parts = [record(0.1).window(0.0, 3.0), record(0.1).window(3.0, 6.0)]
    made = dataclasses.replace(linear.model, start=fit.Start(np.ones(1), np.zeros(1)))
    windows = make_problem(made, parts, owners=[0, 0])
    with pytest.raises(ValueError, match="has windows.*without window=, with start=fit.vector"):
        fit.log_density(dataclasses.replace(linear, problem=windows))
    assert np.isfinite(fit.log_density(linear)(linear.state.u))


def test_profile_of_what_depends_on_several_coordinates():
    # The mass, the centre and the inertia each have a channel of their own, of known noise.
    def body(t, y, z, lam, psi, args):
        del t, z, lam, psi
        b = args["body"]
        return {"m": b.mass * y[0], "c": b.centre[0] + b.centre[1] * y[0], "i": b.inertia * y[0]}

    sigma = {"m": 0.05, "c": 0.01, "i": 0.004}
    made = model(body, noise=sigma, body=fit.planar_body(1.2, [0.05, -0.5], 0.1))
    wave = np.cos(3 * TIMES)
    truth = {"m": 1.5 * wave, "c": 0.1 - 0.4 * wave, "i": 0.08 * wave}
    channels = {name: truth[name] + noise(k, sigma[name]) for k, name in enumerate(truth)}
    found = estimate(made, fit.record(TIMES, channels))
    # In physical values the problem is linear, and the inertia independent of all else.
    best = wave @ channels["i"] / (wave @ wave)
    error = sigma["i"] / np.linalg.norm(wave)
    np.testing.assert_allclose(found.values["body.inertia"], best, rtol=1e-4)
    profile = fit.profile(found, "body.inertia", points=9, width=3.0)
    np.testing.assert_allclose(profile.grid, best + error * np.linspace(-3, 3, 9), rtol=2e-4)
    np.testing.assert_allclose(
        profile.deviance, ((profile.grid - best) / error) ** 2, rtol=1e-3, atol=1e-3
    )
    half = scipy.stats.norm.ppf(0.975) * error
    np.testing.assert_allclose([profile.low, profile.high], [best - half, best + half], rtol=2e-3)


def test_start_that_nothing_depends_on():
    def damper(t, y, z, args):
        del t, y
        return -args["c"] * z

    def speed(t, y, z, lam, psi, args):
        del t, y, lam, psi, args
        return {"v": z[0]}

    system = jaxspark.ConstrainedSystem(damper)
    made = model(speed, "both", system, c=fit.positive(0.3))
    found = estimate(made, fit.record(TIMES, {"v": 2 * np.exp(-0.5 * TIMES) + noise(0, 0.01)}))
    findings = found.findings()
    y, z = findings.initial_states
    assert not y.identifiable and (y.low, y.error, y.high) == (-np.inf, np.inf, np.inf)
    assert z.identifiable and 0 < z.error < 0.01 and abs(z.value - 2) <= 4 * z.error
    assert any("initial states: y[0] (record)" in words for words in findings.warnings)


@pytest.fixture(scope="module")
def unknown_start():
    return model(
        sensor, "both", gain=1.0, offset=fit.real(0.0, scale=0.1), stiffness=fit.positive(8.0)
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_without_motion_tells_no_stiffness(unknown_start, seed):
    found = estimate(unknown_start, fit.record(TIMES, {"x": 0.3 + noise(seed, 0.02)}))
    findings = found.findings()
    offset, stiffness = findings.estimates
    assert findings.flat and any("no motion beyond" in words for words in findings.warnings)
    assert not stiffness.identifiable and np.isposinf(stiffness.error)
    # The offset of the sensor is what the channel shows.
    assert offset.identifiable and abs(offset.value - 0.3) <= 4 * offset.error
    assert offset.error <= 0.004


def test_zeros_tell_nothing(unknown_start):
    with pytest.warns(fit.DataWarning, match="never changes"):
        zeros = fit.record(TIMES, {"x": 0 * TIMES})
    found = estimate(unknown_start, zeros)
    findings = found.findings()
    assert found.converged and findings.flat
    assert [one.identifiable for one in findings.estimates] == [True, False]


def test_motion_is_told(unknown_start):
    found = estimate(unknown_start, record(0.1))
    findings = found.findings()
    assert not findings.flat and all(one.identifiable for one in findings.estimates)
    assert findings.warnings == ()


def test_scale_of_most_residuals():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((40_000, 2)) * np.array([0.005, 3.0])
    every = jnp.ones((40_000, 2), bool)
    one = jnp.ones(())
    scale = lambda r, loss=fit.Cauchy(): np.asarray(loss.scale(jnp.asarray(r), every, one))
    np.testing.assert_allclose(scale(normal), [0.005, 3.0], rtol=0.02)
    np.testing.assert_allclose(scale(normal, fit.Squares()), [0.005, 3.0], rtol=0.02)
    # A tenth of the samples anywhere does not double it; that of squares is theirs.
    off = np.where(rng.random((40_000, 1)) < 0.1, 1e4, normal)
    assert np.all(scale(off) / [0.005, 3.0] <= 1.25) and np.all(scale(off, fit.Squares()) > 1e3)
    assert not scale(0 * normal).any()


def test_noise_of_robust_fits_settles():
    data = record(0.005)
    outlying = fit.record(TIMES, {"x": data.channels["x"] + 0.3 * (np.arange(121) % 10 == 3)})
    for loss in (fit.Huber(), fit.Cauchy()):
        made = model(sensor, gain=fit.real(1.0), offset=fit.real(0.5, "m"), loss=loss)
        found = estimate(made, outlying)
        assert 0.004 <= found.sigma["x"] <= 0.008
        # Estimated once more it stays: only then has the fit converged.
        np.testing.assert_allclose(found.state.found.scale[0], found.sigma["x"], rtol=0.01)
        assert np.all(np.abs(found.vector - [1.4, -0.3]) <= 4 * found.uncertainty.errors)
        assert np.all(found.uncertainty.errors <= 0.002)


def test_products_in_single_precision():
    def product(t, y, z, lam, psi, args):
        del t, z, lam, psi
        return {"x": args["a"] * args["b"] * y[0] + args["offset"]}

    with jax.enable_x64(False):
        made = model(
            product, a=fit.positive(1.3), b=fit.positive(0.9), offset=fit.real(0.1, scale=1.0)
        )
        found = estimate(made, record(0.1), throw=False)
        findings = found.findings()
        assert found.state.u.dtype == jnp.float32
    names = {one.name: one.identifiable for one in findings.estimates}
    assert names == {"a": False, "b": False, "offset": True}
    assert findings.unidentifiable == ("a and b only through a * b",)


def test_reverse_and_forward_agree(monkeypatch):
    made = model(sensor, "both", gain=fit.real(1.0), offset=fit.real(0.5), stiffness=fit.real(9.0))
    short = record(0.1)
    parts = [short.window(0.0, 0.5), short.window(0.5, 1.0)]
    for problem in (make_problem(made, parts), make_problem(made, parts, owners=[0, 0])):
        u = problem.start + 0.1
        results = []
        for reverse in (4, 0):
            monkeypatch.setattr("jaxspark.fit._sensitivities.REVERSE", reverse)
            assert by_reverse(problem) == (reverse == 0)
            at = lambda problem, u: weighted(
                problem, u, jnp.array([0.1]), sensitivities(problem, u)
            )
            jacobian = lambda problem, u: sensitivities(problem, u).jacobian
            results.append((compiled(at)(problem, u), compiled(jacobian)(problem, u)))
        # Of rows that are dependent the triangular factor is not unique, but its square is.
        square = lambda R: jnp.swapaxes(R, -1, -2) @ R
        results = [
            (eqx.tree_at(lambda x: (x.factors, x.prior), found, (square(found.factors), 0)), J)
            for found, J in results
        ]
        for one, other in zip(*map(jax.tree.leaves, results), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.max(np.abs(one)))


def test_reverse_pays_for_many_unknowns():
    many = model(sensor, gain=fit.real(1.0), offset=0.0, net=fit.real(np.ones(500)))
    assert by_reverse(make_problem(many, [record(0.1)]))
    few = model(sensor, gain=fit.real(1.0), offset=0.0, net=fit.real(np.ones(300)))
    assert not by_reverse(make_problem(few, [record(0.1)]))


def coloured(seed, coefficient):
    e = noise(seed)
    for k in range(1, e.size):
        e[k] = coefficient * e[k - 1] + np.sqrt(1 - coefficient**2) * e[k]
    return e


def test_errors_for_correlated_residuals(linear):
    made = linear.model
    data = [
        fit.record(
            TIMES, {"x": 1.4 * np.cos(3 * TIMES) - 0.3 + 0.1 * coloured(k, 0.8)}, name=f"{k}"
        )
        for k in range(6)
    ]
    found = estimate(made, data)
    gain, offset = found.findings().estimates
    # The mean of such noise is known worse by the square root of 1.8 / 0.2, which is 3 ...
    assert 2.0 <= offset.correlated_error / offset.error <= 3.5
    # ... and what is faster is known better: its spectrum at 3 rad/s, with a step of 0.05 s.
    power = (1 - 0.64) / abs(1 - 0.8 * np.exp(-0.15j)) ** 2
    assert 0.6 <= gain.correlated_error / (gain.error * np.sqrt(power)) <= 1.3
    white = linear.findings()
    assert all(np.isnan(one.correlated_error) for one in white.estimates)
    assert white.trials[0].channels[0].whiteness.p_value > 0.05


def test_criteria_and_score_of_what_is_held_out(linear):
    other = record(0.1, seed=8, name="other")
    findings = linear.findings(held_out=other)
    y = record(0.1).channels["x"]
    best, squares = np.linalg.lstsq(X, y)[:2]
    sigma = np.sqrt(squares[0] / 121)
    likelihood = scipy.stats.norm.logpdf(y, X @ best, sigma).sum()
    found = findings.criteria
    np.testing.assert_allclose(found.log_likelihood, likelihood, rtol=1e-4)
    np.testing.assert_allclose(found.aic, 6 - 2 * likelihood, rtol=1e-4)
    np.testing.assert_allclose(found.bic, 3 * np.log(121) - 2 * likelihood, rtol=1e-4)
    z, error = other.channels["x"], np.sqrt(squares[0] / 119)
    score = findings.hold_out
    expected = scipy.stats.norm.logpdf(z, X @ best, error)
    assert score.samples == 121
    np.testing.assert_allclose(score.log_density, expected.sum(), rtol=1e-4)
    np.testing.assert_allclose(score.ratio, np.std(z - X @ best) / error, rtol=0.02)
    again = fit.from_json(fit.to_json(findings))
    assert again.criteria == found and again.hold_out == score and again.flat is False
    assert linear.findings().hold_out is None


def test_errors_of_what_has_not_converged():
    made = model(sensor, gain=fit.real(1.0), offset=fit.real(0.5, "m"), noise={"x": 0.1})
    found = estimate(made, record(0.1), max_iterations=1, throw=False)
    # The problem is linear: the step that is left is all there is.
    best = np.linalg.lstsq(X, record(0.1).channels["x"])[0]
    off, errors = best - found.vector, 0.1 * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(found.uncertainty.errors, np.hypot(errors, off), rtol=1e-3)
    (words,) = found.findings().warnings
    assert "has not converged" in words and "gain by 0.39, offset by 0.8." in words
