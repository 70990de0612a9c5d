"""`jaxspark simulate`: what the sensors of a model show."""

import argparse
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..fit import Findings, from_json, Model, Record, ReportError, Trial
from ..fit._simulation import simulate, SimulationError, start_of
from ..fit._whiteness import r_squared
from ._config import Config, load_config
from ._errors import CommandError
from ._load_model import loaded_model
from ._output import write_table
from ._records import Columns, columns_of, read_inputs, read_records


MOST_ROWS = 10_000_000


def simulate_command(options: argparse.Namespace) -> int:
    """Simulate a model, or predict a measurement, and write a table.

    **Arguments:**

    - `options`: as `simulate_parser` makes them.

    **Returns:** the exit status, 0.

    **Raises:** `CommandError`.
    """
    config = load_config(options.config)
    _check(options)
    report = _report(options.report)
    aside = contextlib.redirect_stdout(sys.stderr)
    with aside, loaded_model(options.model) as model:
        columns = columns_of(model, config)
        values = _values(report) | dict(options.set)
        try:
            shown = _shown(model, config, columns, options, report, values)
        except SimulationError as error:
            raise CommandError(error, 1) from None
    write_table(shown, options.out)
    return 0


def _check(options: argparse.Namespace) -> None:
    """One source of times."""
    given = {"--t1": options.t1, "--data": options.data, "--inputs": options.inputs}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        found = " and ".join(names) or "none"
        raise CommandError(f"give one of --t1, --data and --inputs; got {found}.")
    if options.t1 is None and options.dt is not None:
        raise CommandError(f"--dt goes with --t1; with {names[0]} times are those of the file.")


def _report(path: Path | None) -> Findings | None:
    if path is None:
        return None
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise CommandError(f"{path}: cannot be read: {reason}.") from None
    except ReportError as error:
        raise CommandError(f"{path}: {error}") from None


def _values(report: Findings | None) -> dict[str, float]:
    """The estimates of a report, and what was held in it."""
    return {} if report is None else {each.name: each.value for each in report.estimates}


def _shown(
    model: Model,
    config: Config,
    columns: Columns,
    options: argparse.Namespace,
    report: Findings | None,
    values: dict[str, float],
) -> dict[str, np.ndarray]:
    """The columns of the table."""
    trial = options.trial
    if options.data is None or config.trial is None:
        _check_trial(model, report, values, trial)
    if options.data is not None:
        return _predicted(model, _one(options, config, columns), config, values, trial)
    state = _state(model, report, trial, columns)
    if options.inputs is not None:
        record = read_inputs(options.inputs, columns, config)
        driven = simulate(model, record.times, values, record.channels, trial=trial, state=state)
        return {config.time: driven.times, **driven.channels}
    if columns.inputs:
        raise CommandError(
            f"--t1: the model has inputs, {', '.join(columns.inputs)}: give their samples by "
            "--inputs FILE.csv, or a measurement that has them by --data."
        )
    dt = model.step if options.dt is None else options.dt
    times = _times(_first(options.t0, report, trial), options.t1, dt)
    free = simulate(model, times, values, trial=trial, state=state)
    return {config.time: free.times, **free.channels}


def _times(t0: float, t1: float, dt: float) -> Float[np.ndarray, " n"]:
    """From `t0` by `dt`, not beyond `t1` but for rounding."""
    if not t1 > t0:
        raise CommandError(f"--t1 {t1:g} must be later than --t0 {t0:g}.")
    # Rounding errors of the quotient may not take the last time away.
    count = int((t1 - t0) / dt * (1 + 1e-12) + 1e-9)
    if not 1 <= count <= MOST_ROWS:
        raise CommandError(
            f"from {t0:g} s to {t1:g} s there are {count} steps of {dt:g} s; there must be between "
            f"1 and {MOST_ROWS}."
        )
    return t0 + dt * np.arange(count + 1)


def _one(options: argparse.Namespace, config: Config, columns: Columns) -> Record:
    """The measurement to predict; of several trials in one file that of the number given."""
    records = read_records([options.data], columns, config)
    if config.trial is None:
        return records[0]
    if options.trial >= len(records):
        raise CommandError(
            f"{options.data}: there is no trial {options.trial}; there are {len(records)}, "
            "numbered from 0."
        )
    return records[options.trial]


def _predicted(
    model: Model, record: Record, config: Config, values: dict[str, float], trial: int
) -> dict[str, np.ndarray]:
    found = simulate(model, record, values, trial=trial, fit_start=True)
    shown = {config.time: record.times}
    for name, predicted in found.channels.items():
        shown[name] = predicted
        if name not in record.channels:
            continue
        measured = shown[f"{name}_measured"] = record.channels[name]
        share = r_squared(measured, predicted)
        print(f"{record.name}: {name}: R^2 = {share:.5f}", file=sys.stderr)
    return shown


def _fitted(report: Findings) -> list[Trial]:
    """The trials of a report that were not held out."""
    return [trial for trial in report.trials if not trial.held_out]


def _first(t0: float | None, report: Findings | None, trial: int) -> float:
    """The first time: as given, or else that of the record to which the start belongs."""
    if t0 is not None:
        return t0
    if report is None or trial >= len(_fitted(report)):
        return 0.0
    return float(_fitted(report)[trial].times[0])


def _check_trial(
    model: Model, report: Findings | None, values: Mapping[str, float], trial: int
) -> None:
    """That there is such a trial: in the report, among the starts, or by its own parameters."""
    owned = [name.rpartition(" (trial ")[2].rstrip(")") for name in values if " (trial " in name]
    counts = [len(model.start.alone()), *(int(own) + 1 for own in owned if own.isdigit())]
    if report is not None:
        counts.append(len(_fitted(report)))
    if trial >= max(counts):
        count = "one trial" if max(counts) == 1 else f"{max(counts)} trials"
        where = "the model has" if report is None else "the report and the model have"
        raise CommandError(f"--trial {trial}: {where} {count}, numbered from 0.")


def _state(model: Model, report: Findings | None, trial: int, columns: Columns) -> Any:
    """Where a trial of a report starts; `None` if its start was not estimated."""
    if report is None or not report.initial_states:
        return None
    names = list(dict.fromkeys(each.name.split(" ", 1)[1] for each in report.initial_states))
    if trial >= len(names):
        raise CommandError(f"--trial {trial}: the report has {len(names)} trials, numbered from 0.")
    of_trial = [each for each in report.initial_states if each.name.endswith(f" {names[trial]}")]
    flat = [
        np.array([each.value for each in of_trial if each.name.startswith(f"{part}[")])
        for part in ("y", "z")
    ]
    state = []
    guess = start_of(model, trial, columns.inputs)[1:]
    for like, values, part in zip(guess, flat, ("y", "z"), strict=True):
        ravelled, unravel = jax.flatten_util.ravel_pytree(like)
        if ravelled.size != values.size:
            raise CommandError(
                f"the report has {values.size} numbers for {part} at the start, the model "
                f"{ravelled.size}: it is a report of another model."
            )
        state.append(unravel(jnp.asarray(values)))
    return tuple(state)
