"""The figures of a report."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .._findings import Findings, Profile
from ._estimates import free
from ._fit_figure import fit_figure
from ._look import ACCENT, dressed, grid_of, HELD_OUT, look, new_figure, of_unit, plain
from ._scores import Score, scores


# More panels are not read; the least white are shown.
MOST_PANELS = 24
# Correlations are written into the cells of matrices up to this size.
MOST_WITH_NUMBERS = 14
# Transparent where nothing is correlated: it suits light and dark pages.
DIVERGING = LinearSegmentedColormap.from_list(
    "correlation", [(0.12, 0.42, 0.72, 1), (0.5, 0.5, 0.5, 0), (0.82, 0.35, 0.08, 1)]
)


def figures(findings: Findings) -> dict[str, Figure]:
    """All figures of a report, made without the state of pyplot.

    **Arguments:**

    - `findings`: what to draw.

    **Returns:** by name: `"fit_1"`, `"fit_2"`, ... of the trials in their order,
    `"correlation"`, `"profiles"`, `"autocorrelation"`, `"loss"`. A figure that would be empty
    is left out. Of long records only some samples are drawn, among them the lowest and
    the highest of each stretch.
    """
    made: dict[str, Figure | None] = {}
    with look():
        for at, trial in enumerate(findings.trials, 1):
            made[f"fit_{at}"] = fit_figure(trial)
        made["correlation"] = _correlation(findings)
        made["profiles"] = _profiles(findings)
        made["autocorrelation"] = _autocorrelation(scores(findings))
        made["loss"] = _loss(findings)
    return {name: figure for name, figure in made.items() if figure is not None}


def _correlation(findings: Findings) -> Figure | None:
    matrix = findings.correlation
    size = matrix.shape[0]
    names = [plain(estimate.name, 24) for estimate in free(findings)]
    if size < 2 or len(names) != size:
        return None
    side = min(9.0, 2.4 + 0.5 * size)
    figure = new_figure(side, side - 0.9)
    axes = figure.subplots()
    image = axes.imshow(np.ma.masked_invalid(matrix), cmap=DIVERGING, vmin=-1, vmax=1)
    axes.set_xticks(range(size), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    if size <= MOST_WITH_NUMBERS:
        for (row, column), value in np.ndenumerate(matrix):
            text = f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"
            strong = abs(value) > 0.75
            axes.text(
                column, row, text, ha="center", va="center", fontsize=7,
                color="white" if strong else "black",
            )  # fmt: skip
    bar = figure.colorbar(image, ax=axes, shrink=0.8, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)
    return figure


def _profiles(findings: Findings) -> Figure | None:
    profiles = [profile for profile in findings.profiles if profile.grid.size]
    if not profiles:
        return None
    values = {estimate.name: estimate.value for estimate in findings.estimates}
    figure, panels = grid_of(len(profiles), columns=3, height=2.0)
    for axes, profile in zip(panels, profiles):
        _profile(axes, profile, values.get(profile.name, math.nan))
    return figure


def _profile(axes: Axes, profile: Profile, value: float) -> None:
    deviance = np.where(np.isfinite(profile.deviance), profile.deviance, np.nan)
    axes.plot(profile.grid, deviance, "o-", color=ACCENT, lw=1.4, ms=2.5)
    axes.axhline(profile.threshold, color=HELD_OUT, lw=1, ls="--")
    lowest, highest = float(profile.grid.min()), float(profile.grid.max())
    low = profile.low if math.isfinite(profile.low) else lowest
    high = profile.high if math.isfinite(profile.high) else highest
    axes.axvspan(low, high, color=ACCENT, alpha=0.12, lw=0)
    if math.isfinite(value):
        axes.axvline(value, color="#808080", lw=0.8)
    largest = float(np.nanmax(deviance)) if np.isfinite(deviance).any() else 0.0
    axes.set_ylim(0, 1.1 * max(profile.threshold, min(largest, 3 * profile.threshold)))
    dressed(axes, plain(profile.name), "deviance", of_unit(profile.unit))
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _autocorrelation(of: tuple[Score, ...]) -> Figure | None:
    drawn = [score for score in of if score.channel.whiteness.autocorrelation.size > 1]
    if not drawn:
        return None
    if len(drawn) > MOST_PANELS:
        drawn = sorted(drawn, key=_least_white)[:MOST_PANELS]
    figure, panels = grid_of(len(drawn), columns=3, height=1.7)
    for axes, score in zip(panels, drawn):
        whiteness = score.channel.whiteness
        correlation = whiteness.autocorrelation[1:]
        lags = np.arange(1, correlation.size + 1)
        color = HELD_OUT if score.trial.held_out else ACCENT
        if math.isfinite(whiteness.bound):
            axes.axhspan(-whiteness.bound, whiteness.bound, color="#808080", alpha=0.2, lw=0)
        axes.vlines(lags, 0, correlation, color=color, lw=1.4)
        axes.axhline(0, color="#808080", lw=0.6)
        finite = correlation[np.isfinite(correlation)]
        largest = max([0.2, *np.abs(finite)])
        axes.set_ylim(-1.1 * largest, 1.1 * largest)
        dressed(axes, plain(f"{score.trial.name}: {score.channel.name}", 34), "", "lag (samples)")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    return figure


def _least_white(score: Score) -> float:
    p_value = score.channel.whiteness.p_value
    return math.inf if math.isnan(p_value) else p_value


def _loss(findings: Findings) -> Figure | None:
    loss = np.array(findings.loss, dtype=np.float64)
    loss = np.where(np.isfinite(loss), loss, np.nan)
    # One value is no curve.
    if np.isfinite(loss).sum() < 2:
        return None
    figure = new_figure(6.4, 2.4)
    axes = figure.subplots()
    axes.plot(np.arange(1, loss.size + 1), loss, "o-", color=ACCENT, lw=1.4, ms=3)
    positive = np.nanmin(loss) > 0
    if positive and np.nanmax(loss) > 10 * np.nanmin(loss):
        axes.set_yscale("log")
    dressed(axes, "", "loss", "iteration")
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    return figure
