"""The mechanism in motion: numbers for the player in the page."""

import json
import math
from html import escape
from typing import Any

import numpy as np

from .._findings import Findings, Trial
from ._resources import resource


MOST_FRAMES, FEWEST_FRAMES = 400, 40
# Of all trials together, so that the page stays small.
MOST_NUMBERS = 160_000
# Positions are so many parts of the largest extent.
PARTS = 5000


def animation(findings: Findings) -> str:
    """The section of the page that shows the mechanism in motion; empty without points."""
    trials = [trial for trial in findings.trials if _drawable(trial)]
    if not trials:
        return ""
    data = {
        "lines": [list(line) for line in findings.lines],
        "trials": [_trial(trial, _frames(trials)) for trial in trials],
    }
    options = "".join(
        f'<option value="{at}">{escape(trial.name)}{" (held out)" if trial.held_out else ""}'
        "</option>"
        for at, trial in enumerate(trials)
    )
    hidden = "" if len(trials) > 1 else "hidden"
    controls = resource("player.html").replace("{{hidden}}", hidden)
    return (
        controls.replace("{{options}}", options)
        + f'<script type="application/json" id="mechanism-data">{in_script(data)}</script>\n'
        f"<script>\n{resource('player.js')}</script>\n"
    )


def in_script(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _drawable(trial: Trial) -> bool:
    points = trial.points
    return points is not None and points.size > 0 and bool(np.isfinite(points).any())


def _frames(trials: list[Trial]) -> int:
    """How many frames of each trial."""
    numbers = sum(trial.points[0].size for trial in trials if trial.points is not None)
    return max(FEWEST_FRAMES, min(MOST_FRAMES, MOST_NUMBERS // max(1, numbers)))


def _trial(trial: Trial, most: int) -> dict[str, Any]:
    """Few frames, of whole numbers: positions are `origin + scale * numbers`."""
    assert trial.points is not None
    count = trial.times.size
    shown = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))
    points = np.asarray(trial.points[shown], dtype=np.float64)
    # A figure that moves on a line, or not at all, is drawn too.
    points = np.where(np.isfinite(points), points, np.nan)
    flat = points.reshape(-1, points.shape[-1])
    flat = flat[np.isfinite(flat).all(axis=1)]
    flat = flat if flat.size else np.zeros((1, points.shape[-1]))
    origin = flat.min(axis=0)
    extent = float((flat.max(axis=0) - origin).max()) or 1.0
    scale = extent / PARTS
    numbers = ((points - origin) / scale).ravel()
    span = float(trial.times[-1] - trial.times[0]) or 1.0
    decimals = max(0, 5 - math.floor(math.log10(abs(span))))
    return {
        "name": trial.name,
        "samples": count,
        "dim": points.shape[2],
        "points": points.shape[1],
        "origin": [float(f"{start:.6g}") for start in origin],
        "scale": float(f"{scale:.6g}"),
        "times": [round(float(time), decimals) for time in trial.times[shown]],
        "numbers": [None if math.isnan(part) else round(part) for part in numbers.tolist()],
    }
