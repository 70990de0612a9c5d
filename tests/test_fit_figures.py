"""Figures of reports show what was given."""

import matplotlib
import numpy as np
import pytest

from findings import findings
from jaxspark.fit._report import (
    figures,
    to_html,
)
from jaxspark.fit._report._thin import thin
from pages import drawn


def test_thinning_keeps_extremes():
    values = np.random.default_rng(0).normal(size=100_000)
    kept = thin(values, 1000)
    assert kept.size <= 1000
    assert {0, values.size - 1, int(values.argmin()), int(values.argmax())} <= set(kept.tolist())
    assert np.all(np.diff(kept) > 0)
    np.testing.assert_array_equal(thin(values[:1000], 1000), np.arange(1000))


def test_figures_of_fits_show_what_was_given():
    given = findings()
    made = figures(given)
    for at, record in enumerate(given.trials, 1):
        axes = made[f"fit_{at}"].axes
        assert len(axes) == 2 * len(record.channels)
        for channel, fit, left in zip(record.channels, axes[::2], axes[1::2]):
            known = np.isfinite(channel.measured)
            residual = (channel.measured - channel.predicted)[known]
            times = record.times[known]
            expected = (
                (fit, "measured", times, channel.measured[known]),
                (fit, "predicted", record.times, channel.predicted),
                (left, "residual", times, residual),
            )
            for panel, label, x, y in expected:
                np.testing.assert_array_equal(drawn(panel, label), np.stack([x, y], axis=1))
            assert fit.get_title(loc="left") == channel.name


def test_other_figures_show_what_was_given():
    given = findings()
    made = figures(given)
    assert set(made) == {
        "fit_1", "fit_2", "fit_3", "correlation", "profiles", "autocorrelation", "loss",
    }  # fmt: skip
    np.testing.assert_array_equal(
        made["correlation"].axes[0].images[0].get_array(), given.correlation
    )
    for panel, expected in zip(made["profiles"].axes, given.profiles):
        np.testing.assert_array_equal(panel.lines[0].get_xdata(), expected.grid)
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), expected.deviance)
        assert panel.lines[1].get_ydata()[0] == expected.threshold
    np.testing.assert_array_equal(made["loss"].axes[0].lines[0].get_ydata(), given.loss)
    channels = [channel for record in given.trials for channel in record.channels]
    for panel, channel in zip(made["autocorrelation"].axes, channels, strict=True):
        tops = [segment[1, 1] for segment in panel.collections[0].get_segments()]
        np.testing.assert_array_equal(tops, channel.whiteness.autocorrelation[1:])
        band = panel.patches[0].get_extents().transformed(panel.transData.inverted())
        assert band.y1 == pytest.approx(channel.whiteness.bound)


def test_figures_leave_settings_alone():
    before = dict(matplotlib.rcParams)
    figures(findings(trials=()))
    assert dict(matplotlib.rcParams) == before


def test_loss_of_either_sign():
    # Logarithms of standard deviations make it negative.
    loss = (50.0, 40.0, np.inf, -3000.0, -3001.0)
    given = findings(trials=(), profiles=(), loss=loss)
    axes = figures(given)["loss"].axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [50, 40, np.nan, -3000, -3001])
    assert axes.get_yscale() == "linear"
    assert "Minus the logarithm of the likelihood" in to_html(given)
    # One value is no curve.
    assert "loss" not in figures(findings(trials=(), profiles=(), loss=(50.0, np.inf)))
