"""One trial: measured and predicted, and what is left."""

import math

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._findings import Channel, Trial
from ._look import ACCENT, dressed, HELD_OUT, MEASURED, new_figure, of_unit, plain, WIDTH
from ._thin import thin


# Curves are paths of at most so many points; more look the same.
MOST_OF_CURVE = 1400
# Dots beyond the first number are a picture inside the figure, which is smaller than as many
# marks.
MOST_MARKS, MOST_DOTS = 300, 200_000


def fit_figure(trial: Trial) -> Figure | None:
    """Each channel of a trial, with its residuals below.

    **Arguments:**

    - `trial`: with times, measured and predicted values.

    **Returns:** the figure; `None` if there is nothing to draw. For each channel there are two
    axes: in the first the dots are measured and the curve is predicted, in the second the dots
    are measured less predicted, over a band of two standard deviations of the noise.
    """
    count = len(trial.channels)
    if not count or not trial.times.size:
        return None
    columns = 1 if count <= 2 else 2
    rows = -(-count // columns)
    figure = new_figure(WIDTH, 0.4 + rows * (2.9 if columns == 1 else 2.6))
    panels = figure.subplots(
        2 * rows, columns, sharex=True, squeeze=False, height_ratios=[2, 1] * rows
    )
    for at, channel in enumerate(trial.channels):
        row, column = 2 * (at // columns), at % columns
        fit, left = panels[row, column], panels[row + 1, column]
        _fit(fit, trial, channel)
        _left(left, trial, channel)
        if at == 0:
            fit.legend(
                loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1,
                markerscale=6 / fit.lines[0].get_markersize(),
            )  # fmt: skip
        if at >= count - columns:
            left.set_xlabel("time (s)")
            left.tick_params(labelbottom=True)
    if count < rows * columns:
        panels[-2, -1].remove()
        panels[-1, -1].remove()
    figure.align_ylabels()
    return figure


def _fit(axes: Axes, trial: Trial, channel: Channel) -> None:
    _dots(axes, trial.times, channel.measured, "measured")
    predicted = np.where(np.isfinite(channel.predicted), channel.predicted, np.nan)
    shown = thin(predicted, MOST_OF_CURVE)
    color = HELD_OUT if trial.held_out else ACCENT
    axes.plot(trial.times[shown], predicted[shown], color=color, lw=1.2, label="predicted")
    dressed(axes, plain(channel.name), of_unit(channel.unit), "")


def _left(axes: Axes, trial: Trial, channel: Channel) -> None:
    if math.isfinite(channel.sigma):
        axes.axhspan(-2 * channel.sigma, 2 * channel.sigma, color="#808080", alpha=0.15, lw=0)
    axes.axhline(0, color="#808080", lw=0.6)
    _dots(axes, trial.times, channel.measured - channel.predicted, "residual")
    dressed(axes, "", "residual", "")


def _dots(
    axes: Axes, times: Float[np.ndarray, " n"], values: Float[np.ndarray, " n"], label: str
) -> None:
    known = np.flatnonzero(np.isfinite(values))
    shown = known[_chosen(values[known])]
    size = 5.0 if shown.size <= MOST_MARKS else 2.6 if shown.size <= 5000 else 1.5
    axes.plot(
        times[shown], values[shown], ".", color=MEASURED, ms=size, mew=0, label=label,
        rasterized=shown.size > MOST_MARKS,
    )  # fmt: skip


def _chosen(values: Float[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """Of many dots the extremes of each stretch, and evenly some of those between."""
    if values.size <= MOST_DOTS:
        return np.arange(values.size)
    between = np.linspace(0, values.size - 1, MOST_DOTS // 2).astype(np.intp)
    return np.union1d(thin(values, MOST_DOTS // 2), between)
