"""A model and records, as arrays: all trials padded to one length."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int

from .._custom_types import State
from .._system import constraint_shapes
from ._check import DataError, unknown
from ._first_samples import guesses
from ._grid import grid, stacked
from ._initial import Start
from ._model import Model
from ._parametrisation import Parametrisation
from ._parametrise import parametrise
from ._record import Record
from ._sensor import check_kind, kind_of
from ._signal import Signal
from ._suitable import check_channels
from ._tangent import Tangent, tangents


class Data(eqx.Module):
    """One trial; with another axis in front, all of them.

    - `ts`: times of all steps (s); `at`: which of them are those of the samples.
    - `last`: the number of the last step that is not padding.
    - `measured`: zero where `present` is false.
    - `inputs`: signals by name.
    """

    ts: Float[Array, "*n steps"]
    at: Int[Array, "*n samples"]
    last: Int[Array, "*n"]
    measured: Float[Array, "*n samples channels"]
    present: Bool[Array, "*n samples channels"]
    inputs: dict[str, Signal]


class Problem(eqx.Module):
    """A model and the records that it is fitted to.

    The unknowns are one vector: those of the parameters, as in [`jaxspark.fit.Parametrisation`][],
    and then those of the start of each trial.

    - `model`, `data`: of all trials.
    - `shared`: all parameters; `single`: the same as one trial sees them.
    - `tangents`: where trials start, and along which directions that is unknown.
    - `like`: a state, for its structure.
    - `channels`: their names, in the order of the data's last axis.
    - `owners`: of which record each trial is a part; `links`: the trials that go on in the next.
    - `forces`: whether multipliers are observed.
    - `mesh`: the devices that trials are split over, if there are several.
    """

    model: Model
    data: Data
    shared: Parametrisation
    single: Parametrisation
    tangents: Tangent
    like: tuple[State, State]
    channels: tuple[str, ...] = eqx.field(static=True)
    forces: bool = eqx.field(static=True)
    owners: tuple[int, ...] = eqx.field(static=True)
    links: tuple[int, ...] = eqx.field(static=True, default=())
    mesh: Mesh | None = eqx.field(static=True, default=None)

    @property
    def num_trials(self) -> int:
        """How many trials there are: records, or windows of records."""
        return len(self.owners)

    @property
    def num_start(self) -> int:
        """How many unknowns the start of one trial has."""
        return self.tangents.along_y.shape[-1] + self.tangents.along_z.shape[-1]

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return self.shared.size + self.num_trials * self.num_start

    @property
    def num_independent(self) -> int:
        """How many unknowns there are but for starts that continue other windows."""
        return self.size - len(self.links) * self.num_start

    @property
    def start(self) -> Float[Array, " p"]:
        """Where the search starts."""
        zero = jnp.zeros(self.num_trials * self.num_start, self.data.ts.dtype)
        return jnp.concatenate([self.shared.start.astype(zero.dtype), zero])

    def local(self) -> Int[np.ndarray, "trials q"]:
        """Which unknowns act on each trial: shared ones, its own, those of its start."""
        shared, own, d = self.shared.num_shared, self.shared.num_own, self.num_start
        trials = np.arange(self.num_trials)[:, None]
        of_all = np.broadcast_to(np.arange(shared), (self.num_trials, shared))
        of_each = shared + own * np.asarray(self.owners)[:, None] + np.arange(own)
        of_start = self.shared.size + d * trials + np.arange(d)
        return np.concatenate([of_all, of_each, of_start], 1)


def make_problem(
    model: Model,
    records: Sequence[Record],
    *,
    owners: Sequence[int] | None = None,
    states: Sequence[tuple[State, State]] | None = None,
    signals: Sequence[dict[str, Signal]] | None = None,
    joined: bool = True,
    failed: dict[int, str] | None = None,
) -> Problem:
    """Arrange a model and records for a fit.

    **Arguments:**

    - `records`: one for each trial.
    - `owners`: if the records are consecutive windows of others: of which, for each.
    - `states`: where they start, or nearly, in place of the model's guess.
    - `signals`: their inputs, in place of interpolations of each record by itself.
    - `joined`: whether each window is to go on where the one before ends.
    - `failed`: gets, by number, records whose first samples tell no start; these keep the guess.

    **Raises:** `DataError` if a record lacks inputs, or all channels;
    `RuntimeError` if the guess of a start cannot be made consistent.
    """
    of = tuple(range(len(records)) if owners is None else owners)
    joined &= owners is not None
    links = tuple(k for k in range(len(of) - 1) if joined and of[k] == of[k + 1])
    shared, single = parametrise(model.parameters, max(of) + 1), parametrise(model.parameters, 1)
    inputs = all_signals(model, records) if signals is None else list(signals)
    numbers = single.args(single.start)
    args = [model.args(numbers, signals) for signals in _of_one_length(inputs)]
    if states is None:
        states = guesses(model, records, args, failed)
    elif callable(model.start.y) or callable(model.start.z):
        # A function would take the place of the states given.
        start = Start([y for y, _ in states], [z for _, z in states], model.start.unknown)
        model = dataclasses.replace(model, start=start)
    like = jax.tree.map(jnp.asarray, tuple(states[0]))
    tangents = _tangents(model, records, states, args, links)
    channels, forces = _observed(model, records, like, args[0])
    data = _data(model, records, channels, inputs, links)
    return Problem(model, data, shared, single, tangents, like, channels, forces, of, links)


def channel_names(model: Model, records: Sequence[Record]) -> tuple[str, ...]:
    """The channels that the model predicts."""
    single = parametrise(model.parameters, 1)
    args = model.args(single.args(single.start), all_signals(model, records)[0])
    like = jax.tree.map(jnp.asarray, tuple(model.start.guess(0, len(records), args)))
    return _observed(model, records, like, args)[0]


def _tangents(model, records, states, args, links) -> Tangent:
    """Where the trials start. Windows but the first have an unknown start in any case."""
    linked = {k + 1 for k in links}
    unknown = [model.start.unknown if k not in linked else "both" for k in range(len(records))]
    times = [float(record.times[0]) for record in records]
    try:
        found = tangents(model.system, times, states, args, unknown)
    except RuntimeError as error:
        name = records[getattr(error, "lane", 0)].name
        error.add_note(f"This is the guess of the start of {name}.")
        raise
    if len({(at.along_y.shape, at.along_z.shape) for at in found}) > 1:
        raise ValueError(
            "The starts of the records leave different numbers of degrees of freedom: one of the "
            "guesses is at a singular position. Move it a little."
        )
    return jax.tree.map(lambda *x: jnp.stack(x), *found)


def all_signals(model: Model, records: Sequence[Record]) -> list[dict[str, Signal]]:
    """The inputs of all records, interpolated; all have the same."""
    for name in dict.fromkeys(name for record in records for name in record.inputs):
        for record in records:
            if name not in record.inputs:
                raise unknown(record.name, "input", name, record.inputs)
    return [_signals(model, record) for record in records]


def _signals(model: Model, record: Record) -> dict[str, Signal]:
    kinds = dict(model.inputs or {})
    for name in kinds:
        if name not in record.inputs:
            raise unknown(record.name, "input", name, record.inputs)
    makers = {"cubic": Signal.cubic, "linear": Signal.linear, "previous": Signal.previous}
    signals = {}
    for name, values in record.inputs.items():
        kind = kind_of(kinds.get(name, "cubic"))
        check_kind(f"inputs: {name}", kind)
        signals[name] = makers[kind](record.times, values, uniform=False)
    return signals


def _observed(
    model: Model, records: Sequence[Record], like: tuple[State, State], args: Any
) -> tuple[tuple[str, ...], bool]:
    """The channels that the model predicts, and whether that needs multipliers."""
    system, t = model.system, jnp.asarray(records[0].times[0])
    y, z = like
    lam, psi = jax.tree.map(jnp.asarray, constraint_shapes(system, t, y, z, args))
    observed = eqx.filter_eval_shape(model.observed, t, y, z, lam, psi, args)
    if not observed:
        raise ValueError("observe(t, y, z, lam, psi, args) returned no channel.")
    for name, value in observed.items():
        if np.prod(value.shape, dtype=int) != 1:
            raise ValueError(
                f"observe(t, y, z, lam, psi, args): {name} must be a scalar; it has shape "
                f"{value.shape}."
            )
    check_channels(records, tuple(observed))
    forces = model.needs_multipliers(t, y, z, lam, psi, args)
    return tuple(observed), forces


def _data(
    model: Model,
    records: Sequence[Record],
    channels: tuple[str, ...],
    inputs: list[dict[str, Signal]],
    links: Sequence[int] = (),
) -> Data:
    grids = [grid(record.times, model.step) for record in records]
    if model.delayed and min(g.ts.size for g in grids) < 4:
        raise DataError("Delays need at least four steps: give a longer record or a smaller step.")
    together, count = stacked(grids), max(record.num_samples for record in records)
    measured = np.full((len(records), count, len(channels)), np.nan)
    for i, record in enumerate(records):
        for j, name in enumerate(channels):
            if name in record.channels:
                measured[i, : record.num_samples, j] = record.channels[name]
    present = np.isfinite(measured)
    # The last sample of a window is the first of the next: it counts once.
    present[[k + 1 for k in links], 0] = False
    last = np.array([g.ts.size - 1 for g in grids])
    return Data(
        jnp.asarray(together.ts),
        jnp.asarray(together.at),
        jnp.asarray(last),
        jnp.asarray(np.where(present, measured, 0.0)),
        jnp.asarray(present),
        {name: _together([each[name] for each in inputs]) for name in inputs[0]},
    )


def _together(signals: Sequence[Signal]) -> Signal:
    """Signals padded to one length, and stacked."""
    longest = max(signal.times.shape[0] for signal in signals)
    return jax.tree.map(lambda *x: jnp.stack(x), *(padded(signal, longest) for signal in signals))


def _of_one_length(inputs: Sequence[dict[str, Signal]]) -> list[dict[str, Signal]]:
    longest = max((s.times.shape[0] for each in inputs for s in each.values()), default=0)
    return [{name: padded(signal, longest) for name, signal in each.items()} for each in inputs]


def padded(signal: Signal, count: int) -> Signal:
    """A signal of so many samples, of which the first hold its first value before its start.

    (Pieces beyond its end would begin at the end, and give it their derivatives.)
    """
    missing = count - signal.times.shape[0]
    start = signal.times[0]
    steps = jnp.arange(missing, 0, -1, dtype=start.dtype)
    before = start - (signal.times[1] - start) * steps
    held = jnp.zeros((signal.coefficients.shape[0], missing), start.dtype)
    held = held.at[-1].set(signal.coefficients[-1, 0])
    return Signal(
        jnp.concatenate([before, signal.times]),
        jnp.concatenate([held, signal.coefficients], 1),
        signal.kind,
        signal.uniform,
    )
