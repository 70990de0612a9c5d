"""Records of arrays: checked, cut and merged."""

import numpy as np
import pytest

from jaxspark.fit._check import DataError
from jaxspark.fit._record import Record, record
from logs import T


def test_a_record_owns_double_precision_copies():
    values = np.array([1, 2, 4])
    made = record(T.tolist(), {"a": values}, {"f": np.float32([1, 2, 3])}, units={"a": "rad"})
    values[0] = 7
    np.testing.assert_array_equal(made.channels["a"], [1, 2, 4])
    assert made.channels["a"].dtype == made.inputs["f"].dtype == np.float64
    assert made.units == {"a": "rad", "f": ""}
    assert (made.name, made.num_samples, made.duration) == ("record", 3, 0.25)
    with pytest.raises(ValueError, match="read-only"):
        made.channels["a"][0] = 3.0


def test_missing_samples_are_kept_if_allowed():
    masked = np.ma.masked_array([1.0, 2.0, 4.0], [False, True, False])
    for values in ([1.0, np.nan, 4.0], [1.0, None, 4.0], masked):
        made = record(T, {"a": values}, missing="allow")
        np.testing.assert_array_equal(made.channels["a"], [1, np.nan, 4])


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((T, {"a": [1, np.nan, 2]}), 'index 1: channel "a" is nan, .*missing to "allow"'),
        ((T, {"a": [1, 2, -np.inf]}), 'index 2: channel "a" is -inf, .*give NaN'),
        ((T, {"a": [1, 2, 3]}, {"f": [1, np.nan, 2]}), 'index 1: input "f" is nan.*interpolate'),
        (([0, np.nan, 1], {"a": [1, 2, 3]}), "index 1: time is nan.*remove the sample"),
        (([0, 2, 1], {"a": [1, 2, 3]}), "index 2: time goes from 2.0 back to 1.0.*Sort"),
        (([0, 1, 1], {"a": [1, 2, 3]}), "index 2: time is 1.0 twice. Keep one"),
        (([0], {"a": [1]}), 'record "r": 1 sample; at least 2 are needed'),
        (([], {"a": []}), 'record "r": 0 samples; at least 2 are needed'),
        ((T, {"a": [1, 2]}), 'channel "a" has 2 samples, but there are 3 times.*from_series'),
        ((T, {"a": [1, 2, 3]}, {"f": [1]}), 'input "f" has 1 sample, but there are 3'),
        ((T, {"a": [1, "x", 3]}), "index 1: channel \"a\" is 'x', which is no number"),
        ((T, {"a": np.ones((3, 2))}), r'channel "a" has the shape \(3, 2\).*own name'),
        ((T, {"a": np.ones(3) * 1j}), 'channel "a" holds complex numbers. Take the real'),
        ((np.array(T * 1e9, "datetime64[ns]"), {"a": [1, 2, 3]}), "time holds dates.*total_sec"),
        ((T, {}), "there is no channel. Name at least one"),
        ((T, {"a": [1, 2, 3]}, {"a": [1, 2, 3]}), '"a" is a channel and an input'),
    ],
)
def test_bad_arrays(arguments, words):
    with pytest.raises(DataError, match=words):
        record(*arguments, name="r")


def test_missing_is_allowed_in_channels_only():
    with pytest.raises(DataError, match='index 0: input "f" is nan'):
        record(T, {"a": [1, 2, 3]}, {"f": [np.nan, 1, 2]}, missing="allow")
    with pytest.raises(DataError, match='index 1: channel "a" is inf'):
        record(T, {"a": [np.nan, np.inf, 3]}, missing="allow")


def test_a_channel_without_any_sample():
    with pytest.raises(DataError, match='channel "b" has no sample, all are missing. Leave it out'):
        record(T, {"a": [1, 2, 3], "b": [np.nan] * 3}, missing="allow")


def test_units_of_unknown_channels():
    with pytest.raises(DataError, match='no channel or input "angel". Did you mean "angle"?'):
        record(T, {"angle": [1, 2, 3]}, units={"angel": "rad"})


# Parts and merging.


def test_window_includes_its_bounds():
    made = record(np.arange(5.0), {"a": np.arange(5.0)}, {"f": -np.arange(5.0)}, units={"a": "m"})
    part = made.window(1.0, 3.0)
    np.testing.assert_array_equal(part.times, [1, 2, 3])
    np.testing.assert_array_equal(part.channels["a"], [1, 2, 3])
    np.testing.assert_array_equal(part.inputs["f"], [-1, -2, -3])
    assert part.units == made.units and part.duration == 2
    with pytest.raises(DataError, match="1 samples between 1.5 s and 2.5 s.*0.0 s to 4.0 s"):
        made.window(1.5, 2.5)
    with pytest.raises(DataError, match="0 samples between 3 s and 1 s"):
        made.window(3, 1)


def test_split_shares_no_sample():
    made = record(0.1 * np.arange(10), {"a": np.arange(10.0)})
    train, later = made.split(0.7)
    np.testing.assert_array_equal(train.channels["a"], np.arange(7))
    np.testing.assert_array_equal(later.channels["a"], [7, 8, 9])
    for fraction in (0.0, 1.0, 0.95, -0.5):
        with pytest.raises(DataError, match=f"10 samples cannot be split at {fraction}"):
            made.split(fraction)


def test_parts_without_a_sample_of_a_channel():
    a = [1, 2, np.nan, np.nan]
    made = record([0, 1, 2, 3], {"a": a, "b": [1, 2, 3, 4]}, missing="allow")
    with pytest.raises(DataError, match='channel "a" has no sample from 2.0 s to 3.0 s'):
        made.split(0.5)


def test_channels_of_different_rates_merge():
    made = Record.from_series(
        {"a": ([0, 1, 2], [10, 11, 12]), "b": ([0.5, 1, 1.5], [20, 21, 22])},
        {"f": ([-1, 3], [0, 8])},
        units={"b": "m"},
    )
    nan = np.nan
    np.testing.assert_array_equal(made.times, [0, 0.5, 1, 1.5, 2])
    np.testing.assert_array_equal(made.channels["a"], [10, nan, 11, nan, 12])
    np.testing.assert_array_equal(made.channels["b"], [nan, 20, 21, 22, nan])
    np.testing.assert_allclose(made.inputs["f"], [2, 3, 4, 5, 6], rtol=1e-15)
    assert made.units == {"a": "", "b": "m", "f": ""}


def test_inputs_that_are_faster_than_channels_keep_their_samples():
    times = np.linspace(-0.1, 1.1, 1201)
    push = np.where(abs(times - 0.5) < 0.0051, 7.0, 0.0)
    slow = np.linspace(0, 1, 6)
    series = {"a": (slow, slow**2)}
    made = Record.from_series(series, {"f": (times, push), "g": ([-1, 0.55, 2], [0, 1, 0])})
    # Those inside, of which six are the channel's.
    assert made.num_samples == 1001
    np.testing.assert_allclose(made.times, np.linspace(0, 1, 1001), rtol=0, atol=1e-12)
    np.testing.assert_allclose(made.inputs["f"], push[100:-100], rtol=0, atol=1e-9)
    known = np.isfinite(made.channels["a"])
    np.testing.assert_array_equal(made.times[known], slow)
    np.testing.assert_array_equal(made.channels["a"][known], slow**2)
    np.testing.assert_allclose(made.inputs["g"][-1], 1 - 0.45 / 1.45, rtol=1e-12)
    # A tolerance between channels merges no samples of inputs.
    wide = Record.from_series(series, {"f": (times, push)}, tolerance=0.05)
    assert wide.num_samples == 1001
    assert repr(wide) == 'Record("record"; 1001 samples from 0 s to 1 s; channels: a; inputs: f)'


def test_times_that_differ_by_rounding_are_one():
    times = 0.1 * np.arange(4)
    series = {"a": (times, [1, 2, 3, 4]), "b": (times + [0, 1e-16, -1e-15, 1e-12], [5, 6, 7, 8])}
    made = Record.from_series(series)
    np.testing.assert_allclose(made.times, times, atol=1e-12)
    np.testing.assert_array_equal(made.channels["b"], [5, 6, 7, 8])
    assert Record.from_series(series, tolerance=1e-13).num_samples == 5


@pytest.mark.parametrize(
    "series, inputs, options, words",
    [
        ({"a": ([0, 2, 1], [1, 2, 3])}, {}, {}, 'index 2: time of channel "a" goes from 2.0'),
        ({"a": ([0, 1], [1, 2, 3])}, {}, {}, 'channel "a" has 3 samples, but there are 2 times'),
        ({"a": ([0, 1], [1, np.inf])}, {}, {}, 'index 1: channel "a" is inf'),
        ({}, {}, {}, "there is no channel"),
        (
            {"a": ([0, 1], [1, 2])},
            {"f": ([0.5, 1], [1, 2])},
            {},
            'input "f" was measured from 0.5 s to 1.0 s, but channels from 0.0 s.*Cut',
        ),
        (
            {"a": ([0, 1, 2], [1, 2, 4])},
            {},
            {"tolerance": 1.0},
            'tolerance 1 s merges two samples of channel "a", at 0.0 s and 1.0 s',
        ),
    ],
)
def test_bad_series(series, inputs, options, words):
    with pytest.raises(DataError, match=words):
        Record.from_series(series, inputs, **options)
