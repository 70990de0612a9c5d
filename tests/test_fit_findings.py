"""Findings of real fits: predictions, starts, held-out records, reports."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxspark
import swings
from jaxspark import fit


TIMES = np.linspace(0, 2, 41), np.linspace(0, 1.5, 31)
STARTS = (1.0, 0.0), (-0.5, 2.0)


def points(t, y, args):
    del t, args
    return jnp.stack([jnp.zeros_like(y), y])


def records(names=("first", "second")):
    first = swings.record(TIMES[0], *STARTS[0], 1, names[0], missing=[("rate", [4, 5])])
    return [first, swings.record(TIMES[1], *STARTS[1], 2, names[1])]


@pytest.fixture(scope="module")
def model():
    parameters = {**swings.specs(), "gravity": fit.fixed(swings.GRAVITY, "m/s^2")}
    return swings.model(
        (1.1, 0.3), (-0.4, 1.7), parameters=parameters, points=points, lines=((0, 1),),
        title="Two swings", method=jaxspark.Gauss(3),
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(model):
    return fit.estimate(model, records(), progress=False)


@pytest.fixture(scope="module")
def findings(found):
    # The guess that suits this one is that of the second record.
    held = swings.record(TIMES[0], -0.7, 1.4, 5, "held out")
    return found.findings(held_out=held, level=0.9)


def test_estimates(found, findings):
    told = found.uncertainty
    half = scipy.stats.t.ppf(0.95, told.dof)
    drag, length, gravity = findings.estimates
    assert (drag.name, length.name, gravity.name) == ("drag", "length", "gravity")
    assert gravity.fixed and gravity.value == swings.GRAVITY and np.isnan(gravity.error)
    for estimate, start, value, error in zip(
        (drag, length), (0.2, 0.9), found.vector, told.errors, strict=True
    ):
        assert estimate.value == value and estimate.error == error
        np.testing.assert_allclose(estimate.start, start, rtol=1e-14)
        # Symmetric in the logarithm.
        expected = value * np.exp(half * error / value * np.array([-1, 1]))
        np.testing.assert_allclose([estimate.low, estimate.high], expected, rtol=1e-12)
        assert estimate.identifiable and not estimate.at_bound
    assert length.unit == "m" and findings.level == 0.9


def test_starts(found, findings):
    names = [f"{what} ({name})" for name in ("first", "second") for what in STATES]
    assert [one.name for one in findings.initial_states] == names
    for k, (angle, rate) in enumerate(STARTS):
        y, z = swings.state(angle, rate, length=0.8)
        of_trial = findings.initial_states[4 * k : 4 * k + 4]
        for one, true in zip(of_trial, np.concatenate([y, z])):
            assert one.low < one.value < one.high and one.error > 0
            assert abs(one.value - true) <= 4 * one.error
        # The errors of coordinates are tied by the constraint, as the coordinates are.
        y = np.array([one.value for one in of_trial[:2]])
        np.testing.assert_allclose(np.linalg.norm(y), found.values["length"], rtol=1e-12)


STATES = ("y[0]", "y[1]", "z[0]", "z[1]")


def test_trials(found, findings):
    first, second, held = findings.trials
    assert [trial.name for trial in findings.trials] == ["first", "second", "held out"]
    assert (first.held_out, second.held_out, held.held_out) == (False, False, True)
    for k, trial in enumerate((first, second)):
        np.testing.assert_array_equal(trial.times, TIMES[k])
        predicted = found.prediction.values[k, : TIMES[k].size]
        for j, channel in enumerate(trial.channels):
            np.testing.assert_allclose(channel.predicted, predicted[:, j], rtol=0, atol=1e-13)
            exact = swings.swing(TIMES[k], *STARTS[k])[channel.name]
            worst = np.max(abs(channel.predicted - exact))
            assert worst <= 3 * swings.NOISE[channel.name]
            assert channel.unit == swings.UNITS[channel.name]
            assert channel.sigma == found.sigma[channel.name]
            assert channel.r_squared > 0.99 and channel.whiteness.p_value > 1e-3
    assert np.isnan(first.channels[1].measured[[4, 5]]).all()
    # What was held out is predicted from a start of its own, which is fitted.
    exact = swings.swing(TIMES[0], -0.7, 1.4)
    for channel in held.channels:
        off = np.max(abs(channel.predicted - exact[channel.name]))
        assert off <= 3 * swings.NOISE[channel.name]
    # The bob at the end of the rod.
    for trial in findings.trials:
        assert trial.points.shape == (trial.times.size, 2, 2)
        length = np.linalg.norm(trial.points[:, 1], axis=1)
        np.testing.assert_allclose(length, found.values["length"], rtol=1e-12)
        angle = np.arctan2(trial.points[:, 1, 0], -trial.points[:, 1, 1])
        np.testing.assert_allclose(angle, trial.channels[0].predicted, rtol=0, atol=1e-12)
    assert not np.any(first.points[:, 0]) and findings.lines == ((0, 1),)


def test_rest(found, findings):
    assert findings.loss == found.history and findings.converged
    assert findings.message == found.message and findings.title == "Two swings"
    assert 0 < findings.worst_residual <= 1e-11 and findings.warnings == ()
    np.testing.assert_array_equal(findings.correlation, found.uncertainty.correlation)
    assert findings.unidentifiable == ()
    assert findings.versions["jaxspark"] == jaxspark.__version__


def test_reports(found, findings, tmp_path):
    text = fit.to_json(findings)
    again = fit.from_json(text)
    assert fit.to_json(again) == text
    assert again.estimates == findings.estimates or np.isnan(again.estimates[2].error)
    np.testing.assert_array_equal(again.trials[2].points, findings.trials[2].points)
    assert fit.to_text(again) == fit.to_text(findings)
    page = found.report(tmp_path, level=0.9)
    assert page.exists() and (tmp_path / "report.json").exists()
    written = fit.from_json((tmp_path / "report.json").read_text())
    assert repr(written.estimates[:2]) == repr(findings.estimates[:2])
    assert len(written.trials) == 2


def test_records_of_the_same_name(model, found):
    same = fit.estimate(model, records(("swing", "swing")), progress=False)
    np.testing.assert_array_equal(same.vector, found.vector)
    findings = same.findings(held_out=swings.record(TIMES[0], -0.7, 1.4, 5, "other"))
    names = [trial.name for trial in findings.trials]
    assert names == ["swing (1)", "swing (2)", "other"]
    starts = [one.name for one in findings.initial_states]
    assert starts == [f"{what} (swing ({k}))" for k in (1, 2) for what in STATES]
    page = fit.to_html(findings)
    assert all(name in page for name in names)
