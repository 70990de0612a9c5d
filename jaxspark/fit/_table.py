"""From the columns of a table to the records of its trials."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from ._check import doubts, Missing, Source
from ._csv import Table, Wanted
from ._record import checked, Record


Columns: TypeAlias = Mapping[str, str] | Sequence[str]


def by_name(columns: Columns) -> dict[str, str]:
    """From names in the record to names in the table."""
    if isinstance(columns, str):
        return {columns: columns}
    if isinstance(columns, Mapping):
        return dict(columns)
    return {column: column for column in columns}


def wanted_columns(
    time: str, channels: dict[str, str], inputs: dict[str, str], missing: Missing
) -> tuple[list[Wanted], dict[str, str]]:
    """What to read, and how messages call it."""

    def label(kind: str, key: str, column: str) -> str:
        return f'{kind} "{key}"' + ("" if key == column else f' (column "{column}")')

    wanted = [Wanted(time, f'time (column "{time}")', "error")]
    wanted += [Wanted(c, label("channel", key, c), missing) for key, c in channels.items()]
    wanted += [Wanted(c, label("input", key, c), "error") for key, c in inputs.items()]
    labels = dict(zip([*channels, *inputs], [item.label for item in wanted[1:]]))
    return wanted, {"": wanted[0].label, **labels}


class Part(NamedTuple):
    """The rows of one trial in a table that was sorted by trials.

    - `trial`: `None` if they are not told apart.
    - `start`, `stop`: the bounds of its rows.
    - `order`: in the table as it was, the row of each; `None` if it was sorted.
    """

    trial: str | None
    start: int
    stop: int
    order: Int[np.ndarray, " n"] | None

    def row(self, index: int) -> int:
        """Of this sample, in the table as it was."""
        at = self.start + index
        return at if self.order is None else int(self.order[at])


def parts_of(table: Table) -> list[Part]:
    """The trials; sorts the columns by them, one after the other, to need little memory."""
    if not table.trials:
        return [Part(None, 0, table.columns[0].size, None)]
    order = None
    if (table.codes[1:] < table.codes[:-1]).any():
        order = np.argsort(table.codes, kind="stable")
        for at, column in enumerate(table.columns):
            table.columns[at] = column[order]
    ends = np.cumsum(np.bincount(table.codes)).tolist()
    starts = [0, *ends[:-1]]
    return [Part(*bounds, order) for bounds in zip(table.trials, starts, ends)]


def as_record(
    source: Source,
    name: str,
    arrays: list[Float[np.ndarray, " n"]],
    named: tuple[dict[str, str], dict[str, str]],
    units: Mapping[str, str] | None,
    missing: Missing,
    labels: dict[str, str],
) -> Record:
    channels, inputs = named
    split = 1 + len(channels)
    of_channels = dict(zip(channels, arrays[1:split]))
    of_inputs = dict(zip(inputs, arrays[split:]))
    units = dict(units or {})
    if missing == "allow":
        # A sensor that this trial did not have.
        measured = {key: x for key, x in of_channels.items() if not np.isnan(x).all()}
        of_channels, lacking = measured or of_channels, of_channels.keys() - measured
        units = {key: unit for key, unit in units.items() if key not in lacking}
    return checked(source, name, arrays[0], of_channels, of_inputs, units, missing, labels)


def all_doubts(records: list[Record]) -> list[str]:
    return [
        words
        for made in records
        for words in doubts(made.name, made.times, made.channels, made.inputs, made.units)
    ]
