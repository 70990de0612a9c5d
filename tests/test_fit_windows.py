"""Multiple shooting: the same estimates as without windows, from worse starts."""

import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._evaluate import continuity
from jaxspark.fit._shooting import windows


# Compiles for minutes in all.
pytestmark = pytest.mark.thorough


def test_windows_cut_a_record():
    times = 0.2 + np.cumsum(np.random.default_rng(0).uniform(0.01, 0.04, 90))
    record = swings.record(times, 1.0, 0.0)
    for length in (0.1, 0.33, 1.0, 50.0):
        parts = windows(record, length)
        assert abs(len(parts) - max(1, record.duration / length)) <= 0.5
        assert all(part.num_samples >= 2 for part in parts)
        whole = np.concatenate([parts[0].times[:1], *(part.times[1:] for part in parts)])
        np.testing.assert_array_equal(whole, times)
        for before, after in zip(parts[:-1], parts[1:]):
            assert before.times[-1] == after.times[0]
            assert before.channels["rate"][-1] == after.channels["rate"][0]
        # Equal ones, but for one sample.
        assert all(abs(part.duration - record.duration / len(parts)) <= 0.04 for part in parts)
    # No shorter than samples are apart.
    assert len(windows(record, 1e-3)) == 89


def test_windows_may_miss_a_channel():
    record = swings.record(np.linspace(0, 1, 11), 1.0, 0.0, missing=[("rate", slice(0, 8))])
    parts = windows(record, 0.25)
    assert len(parts) == 4 and np.all(np.isnan(parts[0].channels["rate"]))


TIMES = np.linspace(0, 5, 126), np.linspace(1, 4, 61)
ANGLES = (1.0, 0.0), (0.4, 1.0)


def pivots(times, trial):
    """Motion of the pivot, no polynomial; its speed and its acceleration."""
    amplitude, rate = ((0.1, 4.0), (0.15, 2.5))[trial]
    x, speed = amplitude * np.cos(rate * times), -amplitude * rate * np.sin(rate * times)
    return x, speed, -(rate**2) * x


@pytest.fixture(scope="module")
def records():
    """Of a pendulum whose pivot is driven."""
    made = []
    for k, times in enumerate(TIMES):
        inputs = {"pivot": pivots(times, k)[0], "wind": np.sin(3 * times)}
        motion, wind = lambda t: pivots(t, k)[1:], lambda t: np.sin(3 * t)
        angle, _ = swings.driven(times, *ANGLES[k], motion, wind, **swings.TRUTH)
        measured = angle + 0.01 * np.random.default_rng(k).standard_normal(times.size)
        # Two windows have next to no sample, one has none at all.
        measured[30:48] = np.nan
        made.append(
            fit.record(times, {"angle": measured}, inputs, name=f"trial {k}", missing="allow")
        )
    return made


@pytest.fixture(scope="module")
def model():
    states = [swings.state(*start) for start in ((1.1, 0.3), (0.3, 1.2))]
    shifts = [pivots(times[:1], k) for k, times in enumerate(TIMES)]
    y, z = (
        [state[i] + np.array([shift[i][0], 0.0]) for state, shift in zip(states, shifts)]
        for i in (0, 1)
    )
    return swings.model(
        (0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot, start=fit.Start(y, z)
    )


@pytest.fixture(scope="module")
def single(model, records):
    return fit.estimate(model, records, progress=False)


@pytest.fixture(scope="module")
def multiple(model, records):
    return fit.estimate(model, records, window=0.5, progress=False)


def test_windows_lead_to_the_same_estimate(single, multiple):
    assert multiple.problem.num_trials == 16 and len(multiple.problem.links) == 14
    assert multiple.problem.owners == (0,) * 10 + (1,) * 6
    assert multiple.problem.size == 2 + 16 * 2 and multiple.problem.num_independent == 2 + 2 * 2
    assert multiple.converged and single.converged
    np.testing.assert_allclose(multiple.vector, single.vector, rtol=1e-6)
    np.testing.assert_allclose(multiple.sigma["angle"], single.sigma["angle"], rtol=1e-6)
    np.testing.assert_allclose(multiple.history[-1], single.history[-1], rtol=1e-6)


def test_windows_join(multiple):
    jumps = continuity(multiple.problem, multiple.state.found)[1]
    assert jumps.shape == (28,) and np.max(abs(jumps)) <= 1e-8
    ends = multiple.prediction
    for k in multiple.problem.links:
        np.testing.assert_allclose(ends.y1[k], ends.y0[k + 1], rtol=0, atol=1e-8)
        np.testing.assert_allclose(ends.z1[k], ends.z0[k + 1], rtol=0, atol=1e-7)


def test_windows_lead_to_the_same_errors(single, multiple):
    one, other = single.uncertainty, multiple.uncertainty
    np.testing.assert_allclose(other.errors, one.errors, rtol=1e-5)
    np.testing.assert_allclose(other.correlation, one.correlation, rtol=0, atol=1e-5)
    assert other.dof == one.dof == 126 + 61 - 2 * 18 - 6
    # The errors of all starts follow from those of the first ones: of the ends they are those
    # that any simulation has.
    assert other.covariance.shape == (34, 34)
    assert np.linalg.matrix_rank(other.covariance, tol=1e-12) == 6


def test_windows_lead_to_the_same_findings(single, multiple):
    one, other = single.findings(), multiple.findings()
    assert len(other.trials) == 2
    for a, b in zip(one.trials, other.trials):
        np.testing.assert_array_equal(a.times, b.times)
        x, y = a.channels[0].predicted, b.channels[0].predicted
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-7)
    assert [e.name for e in one.initial_states] == [e.name for e in other.initial_states]
    for a, b in zip(one.initial_states, other.initial_states):
        np.testing.assert_allclose([a.value, a.error], [b.value, b.error], rtol=1e-4, atol=1e-7)


def test_windows_need_an_unknown_start(records, model):
    known = fit.Start(model.start.y, model.start.z, unknown="position")
    held = swings.model((0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot, start=known)
    with pytest.raises(ValueError, match="Windows need a start that is unknown"):
        fit.estimate(held, records, window=2.5, progress=False)
    for length in (0.0, -1.0):
        with pytest.raises(ValueError, match="window must be a positive time"):
            fit.estimate(model, records, window=length, progress=False)
