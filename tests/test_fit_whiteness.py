"""The test for white residuals against other programs, and against noise of known colour."""

import numpy as np
import pytest

from jaxspark.fit._whiteness import r_squared, whiteness


def series():
    t = np.arange(40.0)
    return np.sin(1.7 * t) + 0.6 * np.cos(0.31 * t * t) + 0.05 * t


def coloured(seed, count, coefficient):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=count)
    for at in range(1, count):
        noise[at] = coefficient * noise[at - 1] + np.sqrt(1 - coefficient**2) * noise[at]
    return noise


def gaps(seed, count):
    """A third of the samples missing: single ones and long runs."""
    missing = np.random.default_rng(seed).random(count) < 0.2
    missing[count // 5 : count // 3] = True
    return missing


def test_against_statsmodels():
    """statsmodels 0.15.0, `acf` and `acorr_ljungbox`."""
    found = whiteness(series(), 6)
    expected = [
        1.0, 0.13538536370617724, -0.36923635507012786, 0.3500334063106558, 0.6016006570432939,
        -0.20416127062210193, -0.30460346155640233,
    ]  # fmt: skip
    np.testing.assert_allclose(found.autocorrelation, expected, rtol=1e-12)
    np.testing.assert_allclose(found.p_value, 2.94096747792199e-06, rtol=1e-10)
    np.testing.assert_allclose(found.bound, 1.959963984540054 / np.sqrt(40), rtol=1e-14)
    np.testing.assert_allclose(whiteness(series(), 10).p_value, 1.88081270048368e-08, rtol=1e-10)
    p_value = whiteness(series(), 10, num_parameters=2).p_value
    np.testing.assert_allclose(p_value, 2.57543168271968e-09, rtol=1e-10)
    assert np.isnan(whiteness(series(), 6, num_parameters=6).p_value)


@pytest.mark.parametrize("with_gaps", [False, True])
def test_white_noise_passes(with_gaps):
    """In 95 % of the cases; and 95 % of the autocorrelations are within the bound."""
    passed, outside = [], []
    for seed in range(600):
        noise = np.random.default_rng(seed).normal(size=400)
        if with_gaps:
            noise[gaps(seed, 400)] = np.nan
        found = whiteness(noise)
        passed.append(found.p_value > 0.05)
        outside.append(np.abs(found.autocorrelation[1:]) > found.bound)
    # Of 600 cases, three standard deviations are 2.7 %.
    assert abs(np.mean(passed) - 0.95) < 0.027
    assert abs(np.mean(outside) - 0.05) < 0.01


@pytest.mark.parametrize("with_gaps", [False, True])
def test_coloured_noise_fails(with_gaps):
    for seed in range(50):
        noise = coloured(seed, 400, 0.6)
        if with_gaps:
            noise[gaps(seed, 400)] = np.nan
        assert whiteness(noise).p_value < 1e-3


def test_gaps_do_not_shift_the_autocorrelation():
    """Of an autoregressive noise it is a power; to leave out the gaps would raise it."""
    noise = coloured(1, 100_000, 0.7)
    full = whiteness(noise, 6).autocorrelation
    noise[gaps(2, noise.size)] = np.nan
    found = whiteness(noise, 6)
    np.testing.assert_allclose(found.autocorrelation, 0.7 ** np.arange(7), atol=0.02)
    np.testing.assert_allclose(found.autocorrelation, full, atol=0.02)
    assert found.bound > 1.96 / np.sqrt(np.isfinite(noise).sum())


def test_every_second_sample():
    """Odd lags have no pairs: nothing is known there, and nothing tested."""
    noise = np.random.default_rng(3).normal(size=200)
    sparse = np.full(400, np.nan)
    sparse[::2] = noise
    found = whiteness(sparse, 12)
    assert np.isnan(found.autocorrelation[1::2]).all()
    close = whiteness(noise, 6)
    np.testing.assert_allclose(found.p_value, close.p_value, rtol=1e-12)
    np.testing.assert_allclose(found.autocorrelation[::2], close.autocorrelation, rtol=1e-2)


def test_lags_are_times():
    """A channel with a clock of its own among the times of another is taken by this clock."""
    noise = coloured(5, 300, 0.6)
    slow, fast = 0.7 * np.arange(300), np.sort(np.random.default_rng(6).uniform(0, 210, 400))
    times = np.unique(np.concatenate([slow, fast]))
    merged = np.full(times.size, np.nan)
    merged[np.searchsorted(times, slow)] = noise
    found, alone = whiteness(merged, times=times), whiteness(noise)
    np.testing.assert_allclose(found.autocorrelation, alone.autocorrelation, rtol=1e-12)
    assert found.p_value == alone.p_value < 1e-3
    # A gap in it is as long as it lasts.
    keep = np.ones(300, bool)
    keep[100:130] = False
    gappy = np.where(keep, noise, np.nan)
    found, alone = whiteness(noise[keep], times=slow[keep]), whiteness(gappy)
    assert found.p_value == alone.p_value and not found.note
    # Clocks that waver a little are clocks.
    wavering = slow + 0.02 * np.random.default_rng(7).standard_normal(300)
    assert whiteness(noise, times=wavering).p_value == whiteness(noise).p_value


def test_times_without_a_step_are_not_tested():
    times = np.sort(np.random.default_rng(8).uniform(0, 100, 200))
    found = whiteness(coloured(9, 200, 0.9), times=times)
    assert np.isnan(found.p_value) and "not equidistant" in found.note
    assert found.autocorrelation.shape == (1,)


def test_scale_and_mean_do_not_matter():
    base = whiteness(series(), 5)
    for other in (1e200 * series(), 1e-200 * series(), series() + 7.0):
        found = whiteness(other, 5)
        np.testing.assert_allclose(found.autocorrelation, base.autocorrelation, rtol=1e-10)
        np.testing.assert_allclose(found.p_value, base.p_value, rtol=1e-9)


def test_nothing_to_test():
    for values in (np.full(50, 0.3), np.zeros(50), np.full(50, np.nan), np.arange(5.0)):
        found = whiteness(values)
        assert np.isnan(found.p_value)
    assert whiteness(np.zeros(0)).autocorrelation.shape == (1,)
    with pytest.raises(ValueError, match="between 1 and 39; got 40"):
        whiteness(series(), 40)


def test_default_lags():
    assert whiteness(np.random.default_rng(4).normal(size=100_000)).autocorrelation.size == 51
    assert whiteness(series()).autocorrelation.size == 9


def test_r_squared():
    """Of a regression: statsmodels 0.15.0."""
    t = np.arange(40.0)
    J = np.column_stack([np.ones(40), t / 10, np.cos(0.9 * t)])
    predicted = J @ np.linalg.lstsq(J, series())[0]
    np.testing.assert_allclose(r_squared(series(), predicted), 0.21560049950975968, rtol=1e-12)
    measured = np.array([1.0, np.nan, 3.0, 5.0])
    np.testing.assert_allclose(r_squared(measured, np.array([1.0, 9, 3, 4])), 1 - 1 / 8)
    assert r_squared(measured, np.full(4, 3.0)) == 0
    assert np.isnan(r_squared(np.full(4, 0.1), measured))
    assert np.isnan(r_squared(np.full(4, np.nan), np.zeros(4)))
