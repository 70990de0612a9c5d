"""Whether records suit a model, and one another."""

import contextlib
import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._check import DataError, unknown
from ._findings import Trial
from ._record import Record


# What people write for one unit.
SYNONYMS = {"radian": "rad", "radians": "rad", "degree": "deg", "degrees": "deg", "°": "deg"}


def as_records(records: Any) -> list[Record]:
    """One record or several as a list, which has some and nothing else.

    **Raises:** `DataError` if there is none; `TypeError` for what is no record.
    """
    # A dictionary would be the list of its keys.
    several = isinstance(records, Iterable) and not isinstance(records, Mapping)
    listed: list[Any] = list(records) if several else [records]
    if not listed:
        raise DataError("There is nothing to fit: give at least one record.")
    for each in listed:
        if not isinstance(each, Record):
            raise TypeError(
                f"records must be a fit.Record or a list of them; got {type(each).__name__}. Make "
                "them by fit.record(times, channels), fit.read_csv or fit.from_dataframe."
            )
    return listed


def check_units(records: Sequence[Record]) -> None:
    """A channel or an input has one unit in all records that say it.

    **Raises:** `DataError` otherwise.
    """
    first: dict[str, tuple[str, str]] = {}
    for record in records:
        for name, unit in record.units.items():
            if not unit:
                continue
            before, where = first.setdefault(name, (unit, record.name))
            if SYNONYMS.get(before, before) != SYNONYMS.get(unit, unit):
                raise DataError(
                    f'record "{record.name}": "{name}" is in {unit}, but in {before} in record '
                    f'"{where}". Convert one of them: all records of a fit have the same units.'
                )


def check_channels(records: Sequence[Record], observed: Sequence[str]) -> None:
    """Each record has some of the channels that a model predicts; others it may lack.

    **Raises:** `DataError` if it has none, or one whose name is nearly that of one it lacks.
    """
    for record in records:
        lacking = [name for name in observed if name not in record.channels]
        if len(lacking) == len(observed):
            raise unknown(record.name, "channel", observed[0], record.channels)
        others = {name.lower() for name in record.channels if name not in observed}
        for name in lacking:
            if difflib.get_close_matches(name.lower(), others, n=1, cutoff=0.8):
                raise unknown(record.name, "channel", name, record.channels)


def check_measured(records: Sequence[Record], observed: Sequence[str]) -> None:
    """Each channel that a model predicts is in some record.

    **Raises:** `DataError` otherwise.
    """
    for name in observed:
        if not any(name in record.channels for record in records):
            raise unknown(records[0].name, "channel", name, records[0].channels)


def complete(record: Record, observed: Sequence[str]) -> Record:
    """The record, with the channels that it lacks as missing samples."""
    lacking = [name for name in observed if name not in record.channels]
    if not lacking:
        return record
    nothing = {name: np.full(record.num_samples, np.nan) for name in lacking}
    channels, units = {**record.channels, **nothing}, {name: "" for name in lacking}
    return Record(record.name, record.times, channels, record.inputs, {**record.units, **units})


def measured_only(trial: Trial) -> Trial:
    """The trial without channels that it has not measured."""
    channels = [each for each in trial.channels if np.isfinite(each.measured).any()]
    return dataclasses.replace(trial, channels=tuple(channels))


@contextlib.contextmanager
def needing_inputs() -> Iterator[None]:
    """A model that looks for inputs where records have none is told so."""
    try:
        yield
    except KeyError as error:
        if error.args != ("inputs",):
            raise
        raise DataError(
            'The model uses args["inputs"], but the records have no inputs. Name them in `inputs` '
            "of fit.record, fit.read_csv or fit.simulate."
        ) from error
