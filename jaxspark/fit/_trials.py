"""Records beside what a model says of them."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._compile import compiled
from ._findings import Channel, Trial
from ._fit import Fit
from ._predict import Prediction, simulate
from ._problem import Problem
from ._record import Record
from ._whiteness import r_squared, whiteness


def trials_of(
    fit: Fit,
    problem: Problem,
    u: Any,
    prediction: Prediction,
    records: Sequence[Record],
    held_out: bool,
) -> list[Trial]:
    """What was measured in records beside what the model says; `held_out` if not fitted."""
    values = np.asarray(prediction.values)
    points = None if fit.model.points is None else np.asarray(_points(problem, u))
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


@compiled
def _points(problem: Problem, u: Any):
    """Where the points of the mechanism are at the samples of all trials."""
    points = problem.model.points
    assert points is not None

    def of_trial(x, at, data):
        motion = simulate(problem, x, at, data)
        ts, ys = jax.tree.map(lambda leaf: leaf[data.at], (data.ts, motion.ys))
        return jax.vmap(lambda t, y: jnp.asarray(points(t, y, motion.args)))(ts, ys)

    return jax.vmap(of_trial)(u[problem.local()], problem.tangents, problem.data)
