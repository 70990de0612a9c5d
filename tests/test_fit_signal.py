"""Measured inputs as functions of time: SciPy's splines, and derivatives through JAX."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from jaxspark.fit._check import DataError
from jaxspark.fit._signal import Signal


RNG = np.random.default_rng(7)
EVEN = 0.3 + 0.05 * np.arange(41)
UNEVEN = 0.3 + np.cumsum(RNG.uniform(0.01, 0.2, 41))
VALUES = np.sin(3 * np.arange(41) * 0.05) + RNG.normal(size=41)
GRIDS = pytest.mark.parametrize("times", [EVEN, UNEVEN], ids=["even", "uneven"])


def between(times, number=300):
    """Also the samples themselves."""
    inner = RNG.uniform(times[0], times[-1], number)
    return np.concatenate([inner, times])


@GRIDS
def test_cubic_is_the_spline_of_scipy(times):
    signal, spline = Signal.cubic(times, VALUES), CubicSpline(times, VALUES)
    assert signal.uniform == (times is EVEN)
    at = between(times)
    for order in range(3):
        expected = spline(at, order)
        function = signal
        for _ in range(order):
            function = jax.grad(function)
        found = jax.jit(jax.vmap(function))(jnp.asarray(at))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


@GRIDS
def test_linear_interpolates_and_has_the_slope(times):
    signal = Signal.linear(times, VALUES)
    at = between(times)
    found = jax.vmap(signal)(jnp.asarray(at))
    np.testing.assert_allclose(found, np.interp(at, times, VALUES), rtol=0, atol=1e-13)
    middle = (times[1:] + times[:-1]) / 2
    slopes = jax.vmap(jax.grad(signal))(jnp.asarray(middle))
    np.testing.assert_allclose(slopes, np.diff(VALUES) / np.diff(times), rtol=1e-12)


@GRIDS
def test_previous_holds_from_sample_to_sample(times):
    signal = Signal.previous(times, VALUES)
    call = jax.vmap(signal)
    np.testing.assert_array_equal(call(jnp.asarray(times)), VALUES)
    just_before = np.nextafter(times[1:], 0)
    np.testing.assert_array_equal(call(jnp.asarray(just_before)), VALUES[:-1])
    assert float(jax.grad(signal)(times[3] + 0.001)) == 0.0


@pytest.mark.parametrize("kind", ["previous", "linear", "cubic"])
def test_outside_it_holds_the_ends(kind):
    signal = getattr(Signal, kind)(UNEVEN, VALUES)
    for t, expected in ((-5.0, VALUES[0]), (UNEVEN[-1] + 9, VALUES[-1])):
        assert float(signal(t)) == pytest.approx(expected, rel=1e-13)
        assert float(jax.grad(signal)(t)) == 0.0


@GRIDS
def test_derivatives_at_the_ends_are_one_sided(times):
    signal, spline = Signal.cubic(times, VALUES), CubicSpline(times, VALUES)
    for end in (times[0], times[-1]):
        assert float(jax.grad(signal)(end)) == pytest.approx(float(spline(end, 1)), rel=1e-10)
        second = jax.grad(jax.grad(signal))(end)
        assert float(second) == pytest.approx(float(spline(end, 2)), rel=1e-10)


def test_few_samples_are_a_line_and_a_parabola():
    """Not-a-knot splines of 2 and 3 samples."""
    assert float(Signal.cubic([1.0, 3.0], [2.0, 6.0])(1.5)) == pytest.approx(3.0, rel=1e-14)
    parabola = Signal.cubic([0.0, 1.0, 3.0], [0.0, 1.0, 9.0])
    assert float(parabola(2.0)) == pytest.approx(4.0, rel=1e-14)


def test_jitter_of_a_quarter_interval_needs_no_search():
    times = EVEN.copy()
    times[1:-1] += 0.05 * 0.24 * RNG.uniform(-1, 1, 39)
    signal = Signal.previous(times, VALUES)
    assert signal.uniform
    np.testing.assert_array_equal(jax.vmap(signal)(jnp.asarray(times)), VALUES)
    before = np.nextafter(times[1:], 0)
    np.testing.assert_array_equal(jax.vmap(signal)(jnp.asarray(before)), VALUES[:-1])
    times[20] += 0.05 * 0.5
    assert not Signal.previous(times, VALUES).uniform


@GRIDS
def test_trailing_dimensions(times):
    values = RNG.normal(size=(41, 3, 2))
    at = between(times, 20)
    found = jax.vmap(Signal.cubic(times, values))(jnp.asarray(at))
    np.testing.assert_allclose(found, CubicSpline(times, values)(at), rtol=0, atol=1e-12)
    slope = jax.jacfwd(Signal.linear(times, values))(times[4] + 1e-3)
    expected = (values[5] - values[4]) / (times[5] - times[4])
    np.testing.assert_allclose(slope, expected, rtol=1e-11)


def test_derivatives_by_coefficients_are_powers_of_the_time():
    signal = Signal.cubic(UNEVEN, VALUES)
    t = UNEVEN[7] + 0.4 * (UNEVEN[8] - UNEVEN[7])
    gradient = eqx.filter_grad(lambda signal: signal(t))(signal).coefficients
    expected = np.zeros((4, 40))
    expected[:, 7] = (t - UNEVEN[7]) ** np.array([3, 2, 1, 0])
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    mixed = eqx.filter_grad(lambda signal: jax.grad(jax.grad(signal))(t))(signal).coefficients
    expected[:, 7] = 6 * (t - UNEVEN[7]), 2, 0, 0
    np.testing.assert_allclose(mixed, expected, rtol=1e-12)


@GRIDS
def test_single_precision_stays_single(times):
    signal, spline = Signal.cubic(times, VALUES), CubicSpline(times, VALUES)
    at = between(times).astype(np.float32)
    found = jax.jit(jax.vmap(signal))(jnp.asarray(at))
    assert found.dtype == jnp.float32
    # A time moves by half a digit, and the value by the slope with it.
    scale = np.abs(VALUES).max() + np.abs(spline(at, 1)).max() * times[-1]
    np.testing.assert_allclose(found, spline(at.astype(float)), rtol=0, atol=4e-7 * scale)
    slope = jax.grad(signal)(jnp.asarray(at[0]))
    assert slope.dtype == jnp.float32
    assert signal(1).dtype == jnp.float64


def test_signals_of_equal_length_stack():
    many = [RNG.normal(size=41) for _ in range(3)]
    signals = [Signal.cubic(EVEN + k, values) for k, values in enumerate(many)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *signals)
    at = np.array([0.77, 2.0, 3.3])
    found = jax.jit(jax.vmap(lambda signal, t: signal(t)))(stacked, jnp.asarray(at))
    expected = [CubicSpline(EVEN + k, values)(at[k]) for k, values in enumerate(many)]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_even_and_uneven_samples_stack_if_both_are_searched():
    signals = [Signal.linear(times, VALUES, uniform=False) for times in (EVEN, UNEVEN)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *signals)
    found = jax.vmap(lambda signal: signal(1.1))(stacked)
    expected = [np.interp(1.1, times, VALUES) for times in (EVEN, UNEVEN)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_only_cubic_has_a_continuous_velocity():
    knot, near = UNEVEN[9], 1e-9
    jumps = {}
    for kind in ("linear", "cubic"):
        slope = jax.grad(getattr(Signal, kind)(UNEVEN, VALUES))
        jumps[kind] = abs(float(slope(knot + near) - slope(knot - near)))
    assert jumps["cubic"] < 1e-5 < 1 < jumps["linear"]


@pytest.mark.parametrize(
    "times, values, words",
    [
        ([0.0, 1.0, 1.0], np.ones(3), "index 2: time is 1.0 twice"),
        ([0.0, 2.0, 1.0], np.ones(3), "index 2: time goes from 2.0 back to 1.0"),
        ([0.0], np.ones(1), "1 sample; at least 2 are needed"),
        ([0.0, 1.0], np.ones(3), r"times have the shape \(2,\), values \(3,\)"),
        ([0.0, 1.0], [1.0, np.nan], "index 1: the value is nan.*Remove the sample"),
        ([0.0, 1.0], [[1.0, 2.0], [np.inf, 0.0]], "index 1: the value is inf"),
    ],
)
def test_bad_samples(times, values, words):
    for make in (Signal.previous, Signal.linear, Signal.cubic):
        with pytest.raises(DataError, match=words):
            make(times, values)


def test_one_time_a_call():
    with pytest.raises(ValueError, match=r"shape \(3,\).*jax.vmap"):
        Signal.linear(EVEN, VALUES)(jnp.ones(3))
