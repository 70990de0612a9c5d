"""Measurements, read as the configuration says."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..fit import Model, read_csv, Record
from ..fit._simulation import observed_names
from ._config import Config
from ._errors import CommandError, no_such


@dataclass(frozen=True)
class Columns:
    """Of each channel and input of a model, the column."""

    channels: dict[str, str]
    inputs: dict[str, str]


def columns_of(model: Model, config: Config) -> Columns:
    """The columns, called as the channels where nothing else is said.

    **Raises:** `CommandError` if the configuration names channels or inputs that are none.
    """
    inputs = {name: name for name in model.inputs or ()} | dict(config.inputs)
    channels = {name: name for name in observed_names(model, inputs)}
    for table, known in (
        ("channels", [*channels]), ("units", [*channels, *inputs]), ("noise", [*channels]),
    ):  # fmt: skip
        what = "channel or input" if table == "units" else "channel"
        for name in getattr(config, table):
            if name not in known:
                raise CommandError(f"{config.name}: [{table}]: {no_such(what, name, known)}")
    return Columns(channels | dict(config.channels), inputs)


def read_records(paths: Sequence[Path], columns: Columns, config: Config) -> list[Record]:
    """The records of some files, several of each if there is a column of trials."""
    stems = Counter(path.stem for path in paths)
    records: list[Record] = []
    for path in paths:
        units = {name: config.units[name] for name in config.units}
        name = path.stem if stems[path.stem] == 1 else str(path)
        options = {
            "time": config.time, "channels": columns.channels, "inputs": columns.inputs,
            "delimiter": config.delimiter, "name": name, "units": units,
            "missing": config.missing,
        }  # fmt: skip
        if config.trial is None:
            records.append(read_csv(path, **options))
        else:
            records += read_csv(path, trial=config.trial, **options)
    return records


def read_inputs(path: Path, columns: Columns, config: Config) -> Record:
    """A file of which only times and inputs are read, as if the inputs were channels."""
    if not columns.inputs:
        raise CommandError(
            f"{path}: the model has no inputs. If it has, name their columns in [inputs] of a "
            "configuration."
        )
    units = {name: unit for name, unit in config.units.items() if name in columns.inputs}
    return read_csv(
        path, time=config.time, channels=columns.inputs, delimiter=config.delimiter, units=units
    )


def check_apart(fitted: Sequence[Path], held_out: Sequence[Path]) -> None:
    """What is fitted tests no prediction, and what is given twice counts twice."""
    seen: set[Path] = set()
    for path in fitted:
        if path.resolve() in seen:
            raise CommandError(f"{path}: this file is given twice.")
        seen.add(path.resolve())
    for path in held_out:
        if path.resolve() in seen:
            raise CommandError(
                f"{path}: this file is both fitted and held out. Give it as one of them."
            )
        seen.add(path.resolve())
