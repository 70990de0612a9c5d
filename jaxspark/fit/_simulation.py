"""A model simulated on its own, or on the times and inputs of a record."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._custom_types import State
from .._rollout import SolveError
from .._system import constraint_shapes
from ._check import as_numbers, in_memory
from ._first_samples import guessed
from ._held import own_fitted
from ._initial import Start
from ._model import Model
from ._moved import moved
from ._noise import noise_of
from ._parametrise import parametrise
from ._predict import predict, Prediction, start_of_trial
from ._problem import all_signals, make_problem, Problem
from ._record import checked, Record
from ._sensor import kind_of
from ._signal import Signal
from ._suitable import needing_inputs
from ._values import with_values


class SimulationError(RuntimeError):
    """The model cannot be simulated; the message says when and why."""


@needing_inputs()
def simulate(
    model: Model,
    times: Any,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    trial: int = 0,
    state: tuple[State, State] | None = None,
    fit_start: bool = False,
) -> Record:
    """What the sensors of a model show, without noise.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][].
    - `times`: those of the samples (s), strictly increasing, shape `(n,)`; or a
        [`jaxspark.fit.Record`][], whose times and inputs are taken.
    - `parameters`: physical values by name, as `fit.values`, in place of start values; those of
        scalar constants too. What is not given has the value that the model starts from.
    - `inputs`: by name, samples at the times, shape `(n,)`. Default: none.
    - `trial`: the number of the trial, from 0: which of the model's starts is taken, if it has a
        list of them, and whose own parameters.
    - `state`: the state `(y0, z0)` to start from, in place of the model's start. It is projected
        onto the constraints, as that is.
    - `fit_start`: whether the start is first fitted to the channels of the record, as far as it
        is unknown, from each of the model's guesses.

    **Returns:** a [`jaxspark.fit.Record`][] of all channels of the model. Its units are those of
    the record given, if one is.

    **Raises:** `SimulationError` that says when and why the simulation fails; `ValueError` for
    unknown names, impossible values, `inputs` beside a record, and `fit_start` without one;
    `DataError` for times or inputs that cannot be used.
    """
    if parameters is not None:
        changed = with_values(model.parameters, parameters, trial)
        model = dataclasses.replace(model, parameters=changed)
    # Of a start that is fitted all guesses are tried.
    all_guesses = model
    model = dataclasses.replace(model, start=_start(model.start, trial, state))
    if state is not None:
        all_guesses = model
    record = times if isinstance(times, Record) else None
    if model.start.from_samples and not fit_start:
        model = _started(model, record)
    if record is not None and inputs is not None:
        raise ValueError("Give inputs with times, not with a record, which has its own.")
    if record is None and fit_start:
        raise ValueError("fit_start=True needs a record, to which the start is fitted.")
    if record is None:
        record = _blank("simulation", times, inputs or {}, observed_names(model, inputs or ()))
    elif not fit_start:
        names = observed_names(model, record.inputs)
        record = _blank(record.name, record.times, record.inputs, names, record.units)
    problem = make_problem(model, [record])
    u = problem.start
    if fit_start and problem.num_start:
        noise = jnp.asarray(noise_of(model, [record], problem.channels))
        problem, u = own_fitted(all_guesses, record, noise)
    found = predict(problem, u)
    _check(record, problem, u, found)
    values = np.array(found.values[0], np.float64)
    channels = {name: values[:, j].copy() for j, name in enumerate(problem.channels)}
    units = {k: v for k, v in record.units.items() if v and (k in channels or k in record.inputs)}
    copies = {name: np.array(x) for name, x in record.inputs.items()}
    source = in_memory(record.name)
    return checked(source, record.name, record.times.copy(), channels, copies, units, "error")


@needing_inputs()
def observed_names(model: Model, inputs: Iterable[str] = ()) -> tuple[str, ...]:
    """The channels of a model, whatever is measured.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][].
    - `inputs`: the names of its inputs.
    """
    args, y, z = start_of(model, 0, inputs)
    t = jnp.asarray(0.0)
    lam, psi = jax.tree.map(jnp.asarray, constraint_shapes(model.system, t, y, z, args))
    shapes = eqx.filter_eval_shape(model.observed, t, y, z, lam, psi, args)
    return tuple(shapes)


def start_of(model: Model, trial: int, inputs: Iterable[str] = ()) -> tuple[Any, State, State]:
    """What the system's functions get, and the guess of a trial's start, while inputs are zero."""
    kinds = {name: kind_of(given) for name, given in (model.inputs or {}).items()}
    single = parametrise(model.parameters, 1)
    span, zero = np.linspace(0, 1, 4), np.zeros(4)
    makers = {"linear": Signal.linear, "previous": Signal.previous}
    signals = {name: makers.get(kinds.get(name, ""), Signal.cubic)(span, zero) for name in inputs}
    args = model.args(single.args(single.start), signals)
    y, z = jax.tree.map(jnp.asarray, _start(model.start, trial, None).guess(0, 1, args))
    return args, y, z


def _start(start: Start, trial: int, state: tuple[State, State] | None) -> Start:
    """Of one trial."""
    if state is not None:
        return Start(*state, start.unknown)

    starts = start.alone()
    if len(starts) == 1:
        return starts[0]
    if not 0 <= trial < len(starts):
        raise ValueError(
            f"There is no trial {trial}: the model's start has {len(starts)} guesses, numbered "
            "from 0."
        )
    return starts[trial]


def _started(model: Model, record: Record | None) -> Model:
    """With the start that a record's first samples say; without one, the guess."""
    start = dataclasses.replace(model.start, from_samples=record is not None)
    if record is not None:
        single = parametrise(model.parameters, 1)
        args = model.args(single.args(single.start), all_signals(model, [record])[0])
        y, z = guessed(dataclasses.replace(model, start=start), 0, 1, record, args)
        start = Start(y, z, start.unknown)
    return dataclasses.replace(model, start=start)


def _blank(
    name: str,
    times: Any,
    inputs: Mapping[str, Any],
    channels: Iterable[str],
    units: Mapping[str, str] | None = None,
) -> Record:
    """A record of which only times and inputs are used."""
    source = in_memory(name)
    times = as_numbers(source, "time", times)
    given = {key: as_numbers(source, f'input "{key}"', x) for key, x in inputs.items()}
    zeros = {key: np.zeros(times.size) for key in channels}
    kept = {key: unit for key, unit in (units or {}).items() if key in zeros or key in given}
    return checked(source, name, times, zeros, given, kept, "error")


def _check(record: Record, problem: Problem, u: Any, found: Prediction) -> None:
    """Nothing failed; otherwise when, and why."""
    if not bool(found.good[0]):
        raise SimulationError(f"{record.name}: {_reason(problem, u)}")
    wrong = np.argwhere(~np.isfinite(np.asarray(found.values[0])))
    if wrong.size:
        row, column = map(int, wrong[0])
        raise SimulationError(
            f"{record.name}: the channel {problem.channels[column]} is "
            f"{float(found.values[0, row, column])} at t = {record.times[row]:g} s, where the "
            "simulation succeeded: observe is not defined at that state."
        )


def _reason(problem: Problem, u: Any) -> str:
    """Why the only trial fails, in the words of a rollout."""
    model = problem.model
    at, data = (jax.tree.map(lambda x: x[0], part) for part in (problem.tangents, problem.data))
    args, y0, z0, consistent = start_of_trial(problem, u, at, data.inputs)
    if not bool(consistent):
        return "the start cannot be made consistent: choose other guesses in Start(y, z)."
    try:
        moved(model, (y0, z0), args, data.ts, throw=True)
    except SolveError as error:
        return str(error)
    return "the simulation fails where a rollout of it alone does not: choose a smaller step."
