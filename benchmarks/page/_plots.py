"""Pictures of results: solvers as curves or as bars, ours in strong colours."""

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxspark.fit._report._look import dressed, look, new_figure, plain, WIDTH

from .._result import is_ours, Result
from ._tables import by


# Read on white and on near-black.
OWN = ("#2f7fc4", "#1d9a6c", "#8a63d2", "#c2478d", "#2aa5b8", "#5b6ee1")
OTHERS = ("#d9731a", "#868b94", "#b58900", "#b3473e", "#7d8f69", "#a58b6f", "#c98f6a", "#9a7b9a")
MARKERS = "os^Dv<>P"
COLUMNS, PANEL = 3, 2.75  # inches


Number = Callable[[Result], float]


def curves(
    results: Sequence[Result], x: Number, y: Number, xlabel: str, ylabel: str, reverse: bool = True
) -> Figure:
    """A curve for each solver, a panel for each problem, both axes logarithmic.

    **Arguments:**

    - `results`: of one section; what has no positive `x` or `y` is not drawn.
    - `x`, `y`: functions of a result; `xlabel`, `ylabel`: what they are, in words.
    - `reverse`: whether `x` falls from left to right, as errors do: the better the further right.

    **Returns:** the picture, with one legend for all panels.
    """
    groups, of_solver = by(results, "problem"), styles(results)
    with look():
        figure, panels = _panels(len(groups))
        for axes, (problem, of) in zip(panels, groups.items()):
            for solver, style in of_solver.items():
                points = sorted((x(r), y(r)) for r in of if r.solver == solver)
                _curve(axes, points, solver, style)
            axes.set_xscale("log")
            axes.set_yscale("log")
            dressed(axes, plain(problem), ylabel, xlabel)
            if reverse:
                axes.invert_xaxis()
        _legend(figure, panels[-1])
    return figure


def bars(results: Sequence[Result]) -> Figure:
    """CPU time of each result as a bar, the shortest first, a panel for each problem."""
    groups = by(results, "problem")
    count = sum(map(len, groups.values()))
    with look():
        figure = new_figure(WIDTH, 0.8 * len(groups) + 0.26 * count)
        heights = [len(of) + 2 for of in groups.values()]
        panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (problem, of) in zip(panels, groups.items()):
            _bars(axes, problem, sorted(of, key=lambda r: -r.seconds))
    return figure


def styles(results: Sequence[Result]) -> dict[str, dict]:
    """Colour, line and marker of each solver, the same in all panels of a picture."""
    solvers = list(by(results, "solver"))
    found = {}
    for own in (True, False):
        colors = OWN if own else OTHERS
        for at, solver in enumerate(s for s in solvers if is_ours(s) == own):
            found[solver] = {
                "color": colors[at % len(colors)], "marker": MARKERS[at % len(MARKERS)],
                "linestyle": "-" if own else "--", "lw": 1.6 if own else 1.0,
                "markersize": 3.8 if own else 3.2, "zorder": 3 if own else 2,
            }  # fmt: skip
    return found


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    """Panels side by side, and one more for the legend, the last."""
    rows = -(-(count + 1) // COLUMNS)
    figure = new_figure(WIDTH, PANEL * rows)
    panels = list(figure.subplots(rows, COLUMNS, squeeze=False).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels[: count + 1]


def _legend(figure: Figure, last: Axes) -> None:
    """Of all panels, in the last, which is empty."""
    handles = {}
    for axes in figure.axes:
        found, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, found))
    last.legend(handles.values(), handles.keys(), loc="center left", handlelength=2.6)


def _curve(axes: Axes, points: Sequence[tuple[float, float]], solver: str, style: dict) -> None:
    """Where both numbers have logarithms."""
    good = [point for point in points if all(math.isfinite(x) and x > 0 for x in point)]
    if good:
        axes.plot(*zip(*good), label=plain(solver), **style)


def _bars(axes: Axes, problem: str, results: Sequence[Result]) -> None:
    names = [plain(f"{r.solver}, {r.setting}", 64) for r in results]
    colors = [OWN[0] if is_ours(r.solver) else OTHERS[1] for r in results]
    milliseconds = [1e3 * r.seconds for r in results]
    drawn = axes.barh(range(len(results)), milliseconds, color=colors, height=0.72)
    errors = [f"error {r.error:.0e}" for r in results]
    axes.bar_label(drawn, errors, padding=3, fontsize=7)
    axes.set_yticks(range(len(results)), names)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    dressed(axes, plain(problem), "", "CPU time in ms")
    axes.grid(False, axis="y")
