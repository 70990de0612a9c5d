"""Records that lack channels of others, and models of which nothing is estimated but the start."""

import numpy as np
import pytest

import swings
from jaxspark import fit


TIMES = np.linspace(0, 2, 31)
STATES = (0.9, 0.0), (0.4, 1.5)


def without(record, name):
    channels = {key: values for key, values in record.channels.items() if key != name}
    units = {key: unit for key, unit in record.units.items() if key != name}
    return fit.record(record.times, channels, name=record.name, units=units)


@pytest.fixture(scope="module")
def records():
    whole = [swings.record(TIMES, *at, seed=k, name=f"run {k}") for k, at in enumerate(STATES)]
    return whole[0], without(whole[1], "rate")


@pytest.fixture(scope="module")
def found(records):
    return fit.estimate(swings.model(*STATES, step=0.1), list(records), progress=False)


def test_a_channel_that_only_some_trials_measured(found, records):
    assert found.converged and found.records == records
    for name, error in found.errors.items():
        assert abs(found.values[name] - swings.TRUTH[name]) <= 4 * error
    # Noise is that of the trial that has the channel.
    present = np.asarray(found.problem.data.present)
    assert present.sum(axis=1).tolist() == [[31, 31], [31, 0]]
    left = np.asarray(found.prediction.values - found.problem.data.measured)[0, :, 1]
    expected = np.sqrt(np.sum(left**2) / (31 * (1 - 6 / 93)))
    np.testing.assert_allclose(found.sigma["rate"], expected, rtol=1e-2)


def test_reports_tell_what_was_measured(found, records):
    other = without(records[1], "rate")
    told = found.findings(held_out=[other, records[0]])
    listed = [[channel.name for channel in trial.channels] for trial in told.trials]
    assert listed == [["angle", "rate"], ["angle"], ["angle"], ["angle", "rate"]]
    np.testing.assert_array_equal(told.trials[1].channels[0].measured, records[1].channels["angle"])
    assert fit.to_json(fit.from_json(fit.to_json(told))) == fit.to_json(told)
    # What belongs to one trial is called by its number and its name.
    text = fit.to_text(told)
    assert "z[1] (trial 0, run 0 (1))" in text and "y[0] (trial 1, run 1 (1))" in text


def test_held_out_records_have_the_same_units(found, records):
    wrong = fit.record(TIMES, dict(records[0].channels), units={"angle": "deg"}, name="new")
    with pytest.raises(fit.DataError, match='"new": "angle" is in deg, but in rad'):
        found.findings(held_out=wrong)


def test_start_alone_is_fitted_and_simulated(records):
    fixed = {"length": fit.fixed(0.8, "m"), "drag": 0.3}
    model = swings.model(STATES[0], parameters=fixed, step=0.1)
    found = fit.estimate(model, records[0], progress=False)
    assert found.values == found.errors == {}
    assert repr(found).startswith('Fit("Parameter identification", 1 record; no parameters; Conv')
    told = found.findings()
    assert [each.name for each in told.estimates] == ["length"] and told.estimates[0].fixed
    y, z = swings.state(*STATES[0], length=0.8)
    for each, true in zip(told.initial_states, [*y, *z], strict=True):
        assert abs(each.value - true) <= 4 * each.error
    assert "no parameter was free" in fit.to_text(told)
    fit.to_html(told)
    shown = fit.simulate(model, TIMES, state=(y, z))
    exact = swings.swing(TIMES, *STATES[0])
    np.testing.assert_allclose(shown.channels["angle"], exact["angle"], rtol=0, atol=1e-4)
