"""Multiple shooting: records in windows, each with a start of its own."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import State
from ._first_samples import guessed
from ._held import fitted_from, MOST
from ._model import Model
from ._parametrise import parametrise
from ._predict import predict
from ._problem import all_signals, make_problem, padded, Problem
from ._record import Record
from ._sensor import Input
from ._shaped import room_of, shaped
from ._signal import Signal


# Iterations for the start of one window, which is a small and nearly linear problem.
FEW = 15
# Of the samples of a window, so many times as few of inputs are kept before and after it.
BESIDE = 4


def windows(record: Record, length: float) -> list[Record]:
    """Consecutive parts of a record of about `length` (s), each with at least two samples.

    The last sample of a part is the first of the next.
    """
    count = max(1, round(record.duration / length))
    wanted = record.times[0] + record.duration * np.arange(count + 1) / count
    edges = np.unique(np.searchsorted(record.times, wanted - 1e-9 * length))
    edges[-1] = record.num_samples - 1
    edges = np.unique(edges)
    return [_part(record, slice(a, b + 1)) for a, b in zip(edges[:-1], edges[1:])]


def _part(record: Record, of: slice) -> Record:
    """Some consecutive samples; unlike in `Record.window` a channel may have none of them."""
    channels = {key: values[of] for key, values in record.channels.items()}
    inputs = {key: values[of] for key, values in record.inputs.items()}
    return Record(record.name, record.times[of], channels, inputs, record.units)


def shooting_problem(
    model: Model,
    records: Sequence[Record],
    length: float,
    noise: np.ndarray,
    parameters: Float[Array, " p"] | None = None,
    joined: bool = True,
) -> Problem:
    """The problem whose trials are windows, with starts found one after the other.

    The start of each window is fitted to the samples in it, with the parameters held, from where
    the window before ends.

    **Arguments:**

    - `length`: of a window (s); a few times shorter than errors take to grow tenfold.
    - `noise`: standard deviations of the channels, roughly.
    - `parameters`: those that are held, without bounds; by default where the model starts.
    - `joined`: whether each window is to go on where the one before ends.
    """
    if not length > 0:
        raise ValueError(f"window must be a positive time (s); got {length}.")
    parts = [windows(record, length) for record in records]
    owners = [i for i, of_record in enumerate(parts) for _ in of_record]
    alone = [part for of_record in parts for part in of_record]
    if len(alone) > len(records) and model.start.unknown != "both":
        raise ValueError('Windows need a start that is unknown: Start(y, z, unknown="both").')
    states, signals = [], []
    for i, (record, inputs) in enumerate(zip(records, all_signals(model, records), strict=True)):
        of_parts = _cut(model, record, inputs, parts[i])
        shared = parametrise(model.parameters, len(records))
        held = (shared.start if parameters is None else parameters)[shared.of_trial(i)]
        states += _starts(model, parts[i], of_parts, i, len(records), noise, held)
        signals += of_parts
    given = {"owners": owners, "states": states, "signals": signals}
    return make_problem(model, alone, joined=joined, **given)


def own_of_windows(
    model: Model, record: Record, length: float, noise: Any, shared: Float[Array, " q"]
) -> tuple[Problem, Float[Array, " p"]]:
    """A record in windows that need not join, and its unknowns: its own are fitted, others held."""
    single = parametrise(model.parameters, 1)
    held = single.start.at[: shared.size].set(shared)
    problem = shooting_problem(model, [record], length, np.asarray(noise), held, joined=False)
    u = problem.start.at[: shared.size].set(shared)
    return problem, fitted_from(problem, u, jnp.asarray(noise), shared.size, MOST).u


def _cut(
    model: Model, record: Record, inputs: dict[str, Signal], parts: list[Record]
) -> list[dict[str, Signal]]:
    """The inputs of parts of a record: what they are in the whole, and not new interpolations.

    With samples before and after, and all of those that act late: by how much may be unknown.
    """
    whole = any(isinstance(one, Input) and one.late for one in (model.inputs or {}).values())
    few = lambda part: part.num_samples // BESIDE + 1
    margin = lambda part: record.num_samples if whole else few(part)
    longest = max(min(part.num_samples + 2 * margin(part), record.num_samples) for part in parts)

    def cut(signal: Signal, part: Record) -> Signal:
        begin = int(np.searchsorted(record.times, part.times[0]))
        first = max(begin - margin(part), 0)
        last = min(begin + part.num_samples + margin(part), record.num_samples)
        between = signal.times.shape[0] - signal.coefficients.shape[1]
        pieces = signal.coefficients[:, first : last - between]
        return padded(
            Signal(signal.times[first:last], pieces, signal.kind, signal.uniform), longest
        )

    return [{name: cut(signal, part) for name, signal in inputs.items()} for part in parts]


def _starts(
    model: Model,
    parts: list[Record],
    signals: list[dict[str, Signal]],
    index: int,
    count: int,
    noise: np.ndarray,
    held: Float[Array, " q"],
) -> list[tuple[State, State]]:
    """Where each window of one record starts."""
    # All of one shape, so that one compiled function serves all windows.
    longest = max(part.num_samples for part in parts)
    found: list[tuple[State, State]] = []
    single = parametrise(model.parameters, 1)
    args = model.args(single.args(held), signals[0])
    guess = guessed(model, index, count, parts[0], args)
    for part, inputs in zip(parts, signals, strict=True):
        alone = make_problem(model, [part], states=[guess], signals=[inputs])
        problem = _padded(alone, longest)
        start, guess = _fitted(problem, jnp.asarray(noise), held)
        found.append(start)
    return found


def _fitted(
    problem: Problem, noise: Any, held: Float[Array, " q"]
) -> tuple[tuple[State, State], tuple[State, State]]:
    """The state at the start and the end of the only trial, its start fitted alone."""
    u = problem.start.at[: held.size].set(held)
    state = fitted_from(problem, u, noise, held.size, FEW)
    at = predict(problem, state.u)
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in problem.like)
    start = unravel_y(at.y0[0]), unravel_z(at.z0[0])
    return start, (unravel_y(at.y1[0]), unravel_z(at.z1[0]))


def _padded(problem: Problem, samples: int) -> Problem:
    """The same problem with room for more samples and steps."""
    data = problem.data
    steps = samples * max(1, -(-data.ts.shape[1] // max(data.at.shape[1] - 1, 1)))
    return shaped(problem, max(steps, data.ts.shape[1]), samples, room_of(problem)[2])
