"""Records that were not fitted, and fits without some records."""

import dataclasses

import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._compare import _beside, _inefficiency
from jaxspark.fit._held import own_fitted
from jaxspark.fit._predict import predict


TIMES = np.linspace(0.0, 2.0, 81)
ANGLES = (0.9, 0.0), (0.3, 1.5), (-0.6, 0.8), (1.2, -0.5)


@pytest.fixture(scope="module")
def records():
    return [swings.record(TIMES, *at, seed=k) for k, at in enumerate(ANGLES)]


@pytest.fixture(scope="module")
def model():
    start = fit.Start.from_channels(*swings.state(0.0, 0.0))
    return swings.model((0.0, 0.0), start=start)


@pytest.fixture(scope="module")
def found(model, records):
    return fit.estimate(model, records, progress=False)


def test_predictions_are_those_of_each_record_alone(found, model):
    shorter = swings.record(TIMES[:60], -1.0, 0.3, seed=8)
    others = [swings.record(TIMES, 0.5, 0.5, seed=7), shorter]
    trials = found.predict(others)
    assert [trial.held_out for trial in trials] == [True, True]
    for record, trial in zip(others, trials, strict=True):
        shared = found.state.u[: found.problem.shared.num_shared]
        problem, u = own_fitted(model, record, found.state.sigma, shared)
        expected = np.asarray(predict(problem, u).values[0])
        for j, channel in enumerate(trial.channels):
            assert channel.name == found.problem.channels[j]
            np.testing.assert_allclose(
                channel.predicted, expected[: record.num_samples, j], atol=1e-7
            )
    # The model is the true one: what is left is noise.
    left = fit.rms_of(trials)
    assert 0.8 <= left["angle"] / swings.NOISE["angle"] <= 1.2
    # A longer record needs a program of its own.
    longer = swings.record(np.linspace(0.0, 3.0, 121), 0.4, 0.0, seed=9)
    assert fit.rms_of(found.predict(longer))["angle"] <= 1.3 * swings.NOISE["angle"]


def test_folds_are_fits_without_their_records(found, model, records):
    crossed = fit.cross_validate(found)
    assert crossed.folds == ((0,), (1,), (2,), (3,)) and all(crossed.converged)
    without = fit.estimate(model, records[:1] + records[2:], progress=False)
    for name, value in without.values.items():
        # But for degrees of freedom of the noise, which weigh the channels.
        assert abs(crossed.values[1][name] - value) <= 0.02 * without.errors[name]
    expected = without.predict([records[1]])[0]
    for own, other in zip(crossed.trials[1].channels, expected.channels, strict=True):
        np.testing.assert_allclose(own.predicted, other.predicted, atol=2e-4)
    names = {"angle": 0.01, "rate": 0.05}
    for name, noise in names.items():
        assert 0.9 <= crossed.rms[name] / noise <= 1.15


def test_records_may_lack_channels(model, records):
    def only(name, record):
        return fit.record(record.times, {name: record.channels[name]}, name=record.name)

    lacking = [*records[:2], only("angle", records[2])]
    found = fit.estimate(model, lacking, progress=False)
    for name in ("angle", "rate"):
        (trial,) = found.predict([only(name, records[3])])
        assert [channel.name for channel in trial.channels] == [name]
        assert fit.rms_of([trial])[name] <= 1.4 * swings.NOISE[name]
    crossed = fit.cross_validate(found)
    assert [channel.name for channel in crossed.trials[2].channels] == ["angle"]
    # The rate of the only records that have it left out keeps its noise.
    apart = fit.cross_validate(found, [[0, 1]])
    assert np.isfinite(apart.rms["rate"]) and apart.rms["rate"] <= 2 * swings.NOISE["rate"]


def test_folds_of_several(found):
    crossed = fit.cross_validate(found, [[0, 1], [2, 3]])
    assert len(crossed.trials) == 4 and len(crossed.values) == 2


@pytest.fixture(scope="module")
def without_drag(model, records):
    parameters = {"length": fit.positive(0.9, "m"), "drag": 0.0}
    other = dataclasses.replace(model, parameters=parameters)
    return fit.estimate(other, records, progress=False)


def test_laws_are_compared(found, without_drag, records):
    table = fit.compare({"none": without_drag, "drag": found})
    assert [law.name for law in table.laws] == ["drag", "none"]
    assert table.best == table.by_bic == "drag"
    drag, none = table.laws
    assert drag.left_out == fit.cross_validate(found).rms and drag.converged and none.converged
    sizes = {law.name: np.sqrt(np.prod(list(law.left_out.values()))) for law in table.laws}
    assert drag.score == 1.0
    np.testing.assert_allclose(none.score, sizes["none"] / sizes["drag"], rtol=1e-12)
    assert none.score > 2
    # Two channels' noise, eight numbers of starts, length and drag.
    assert (drag.told, none.told) == (12, 11)
    # What the true law leaves is white, what a motion without friction leaves is not.
    assert drag.samples == none.samples == 4 * 2 * 81
    assert drag.independent > 0.7 * drag.samples and none.independent < 0.2 * none.samples
    assert drag.bic == found.findings().criteria.bic
    share = drag.independent / drag.samples
    expected = none.told * np.log(drag.independent) + share * (
        none.bic - none.told * np.log(none.samples)
    )
    np.testing.assert_allclose(none.bic_correlated, expected, rtol=1e-10)
    lines = str(table).splitlines()
    assert lines[0].split("  ")[0] == "law" and "left out: angle" in lines[0]
    assert lines[1].startswith("drag") and "1.00" in lines[1] and lines[2].startswith("none")
    held = [swings.record(TIMES, 0.5, 0.5, seed=7)]
    by_held = fit.compare({"none": without_drag, "drag": found}, held)
    assert by_held.best == "drag" and by_held.laws[0].left_out == fit.rms_of(found.predict(held))


def test_units_of_channels_do_not_choose_a_law():
    """Another unit adds the same to the criterion of every law, the corrected one included."""

    law = lambda told, count: fit.Law("x", told, {"a": 1.0}, 1.0, 0.0, np.nan, 600, count, True)
    one, other = law(12, 500.0), law(11, 9.0)

    def difference(shift):
        values = _beside(one, one, 550.0 - shift), _beside(one, other, 200.0 - shift)
        return values[1].bic_correlated - values[0].bic_correlated

    np.testing.assert_allclose(difference(1200 * np.log(1e3)), difference(0.0), rtol=1e-10)
    np.testing.assert_allclose(difference(0.0), 2 * 500 / 600 * 350 - np.log(500), rtol=1e-12)


def test_samples_of_an_autoregressive_residual_that_count():
    """`(1 + a) / (1 - a)` of them are as good as one."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        x = np.zeros(6000)
        for k in range(1, 6000):
            x[k] = 0.8 * x[k - 1] + rng.standard_normal()
        nothing = np.zeros(6000)
        found.append(_inefficiency(fit.Channel("a", "", x, nothing, 1.0, 0.0, fit.whiteness(x))))
    # Sums that end at the first lag within the bounds miss what is beyond: some 5 %.
    assert 0.85 * 9 <= np.mean(found) <= 1.05 * 9
    x = rng.standard_normal(6000)
    white = fit.Channel("a", "", x, nothing, 1.0, 0.0, fit.whiteness(x))
    assert 1.0 <= _inefficiency(white) <= 1.1


def test_errors_of_comparisons(found, without_drag, records, model):
    with pytest.raises(TypeError, match="give a dictionary of fits by name"):
        fit.compare([found])
    with pytest.raises(ValueError, match="no fits to compare"):
        fit.compare({})
    with pytest.raises(ValueError, match="held_out or folds"):
        fit.compare({"drag": found}, records, folds=[(0,)])
    fewer = dataclasses.replace(found, records=found.records[:3])
    other = [swings.record(TIMES, *at, seed=9) for at in ANGLES]
    elsewhere = dataclasses.replace(found, records=tuple(other))
    with pytest.raises(ValueError, match="drag and elsewhere were fitted to different records"):
        fit.compare({"drag": found, "elsewhere": elsewhere})
    with pytest.raises(ValueError, match="drag and fewer were fitted to different records"):
        fit.compare({"drag": found, "fewer": fewer})


def test_errors(found, records):
    for folds in ([[0, 0]], [[0, 1, 2, 3]], [[4]], [[]], [], [0, 1]):
        with pytest.raises(ValueError, match="folds are lists of numbers"):
            fit.cross_validate(found, folds)
    alone = fit.estimate(found.model, records[:1], progress=False)
    with pytest.raises(ValueError, match="at least two records"):
        fit.cross_validate(alone)
