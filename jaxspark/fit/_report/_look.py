"""How figures look, whatever the user has set for other figures."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


# These are read on white and on near-black.
MEASURED, ACCENT, HELD_OUT = "#868b94", "#2f7fc4", "#d9731a"
WIDTH = 9.2
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STYLE = {
    "axes.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "figure.dpi": 144,
    "font.size": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


@contextmanager
def look() -> Iterator[None]:
    """Within it figures are made and saved."""
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # A name may have signs that the font lacks: a browser finds them elsewhere.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def grid_of(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, each of that height in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = new_figure(WIDTH * (0.4 + 0.2 * columns), 0.3 + height * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels[:count]


def dressed(axes: Axes, title: str, ylabel: str, xlabel: str) -> None:
    """Labels, a faint grid, and no box."""
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_ylabel(ylabel)
    axes.set_xlabel(xlabel)
    axes.grid(color="#808080", alpha=0.22, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, width=0.6, length=3)


def of_unit(text: str) -> str:
    """A unit, with its powers raised."""
    raised = re.sub(r"\^(-?\d+)(?![\d.])", lambda power: power[1].translate(RAISED), text)
    return plain(raised, 16)


def plain(text: str, most: int = 48) -> str:
    """The user's text, of which matplotlib shall typeset nothing, and not too long."""
    text = " ".join(text.split())
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return text.replace("$", r"\$")
