"""Records beside what a model says of them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._findings import Channel, Trial
from ._fit import Fit
from ._predict import Prediction
from ._problem import Problem
from ._record import Record
from ._whiteness import r_squared, whiteness


def trials_of(
    fit: Fit,
    problem: Problem,
    prediction: Prediction,
    records: Sequence[Record],
    held_out: bool,
) -> list[Trial]:
    """What was measured in records beside what the model says; `held_out` if not fitted."""
    values = np.asarray(prediction.values)
    points = None if prediction.points is None else np.asarray(prediction.points)
    found = []
    for i, record in enumerate(records):
        windows = [k for k, owner in enumerate(problem.owners) if owner == i]
        joined = _joined(problem, values, windows, record.num_samples)
        channels = tuple(
            _channel(fit, record, name, joined[:, j]) for j, name in enumerate(problem.channels)
        )
        seen = None if points is None else _joined(problem, points, windows, record.num_samples)
        found.append(Trial(record.name, record.times, channels, held_out, seen))
    return found


def _joined(problem: Problem, values: np.ndarray, windows: list[int], count: int) -> np.ndarray:
    """What belongs to the samples of a record, from its windows."""
    parts, left = [], count
    for k in windows:
        part = values[k] if not parts else values[k][1:]
        steps = int(np.asarray(problem.data.last[k]))
        at = np.asarray(problem.data.at[k])
        used = int(np.searchsorted(at, steps)) + 1 - (1 if parts else 0)
        parts.append(part[: min(used, left)])
        left -= len(parts[-1])
    return np.concatenate(parts)


def _channel(fit: Fit, record: Record, name: str, predicted: Float[np.ndarray, " n"]) -> Channel:
    measured = record.channels[name]
    return Channel(
        name,
        record.units.get(name, ""),
        measured,
        predicted,
        fit.sigma[name],
        r_squared(measured, predicted),
        whiteness(measured - predicted, times=record.times),
    )
