"""Records from CSV files and data frames."""

import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np

from ._check import as_numbers, check_missing, DataError, DataWarning, Missing, Source, unknown
from ._csv import line_of, read_table, Table
from ._record import Record
from ._table import all_doubts, as_record, by_name, Columns, parts_of, wanted_columns


@overload
def read_csv(
    path: str | PathLike[str],
    *,
    time: str = ...,
    channels: Columns,
    inputs: Columns | None = ...,
    trial: None = ...,
    delimiter: str = ...,
    name: str | None = ...,
    units: Mapping[str, str] | None = ...,
    missing: Missing = ...,
) -> Record: ...
@overload
def read_csv(
    path: str | PathLike[str],
    *,
    time: str = ...,
    channels: Columns,
    inputs: Columns | None = ...,
    trial: str,
    delimiter: str = ...,
    name: str | None = ...,
    units: Mapping[str, str] | None = ...,
    missing: Missing = ...,
) -> list[Record]: ...
def read_csv(
    path: str | PathLike[str],
    *,
    time: str = "time_s",
    channels: Columns,
    inputs: Columns | None = None,
    trial: str | None = None,
    delimiter: str = ",",
    name: str | None = None,
    units: Mapping[str, str] | None = None,
    missing: Missing = "error",
) -> Record | list[Record]:
    """A record, or one for each trial, from a CSV file with a header.

    The file is UTF-8, with or without a byte-order mark, with line ends of any system; blank
    lines are skipped, names and numbers may be quoted, and columns not asked for may hold
    anything.

    The file is read in blocks, unusual ones line by line, for exact messages. Ten
    million rows of three columns (280 MB) take 7 to 11 s on one core, and at most 1.7 times the
    memory of the record (0.41 for 0.24 GB, beyond what Python and JAX take); 2.2 times if the
    rows of several trials alternate.

    Warns (`DataWarning`) as [`jaxspark.fit.record`][] does.

    **Arguments:**

    - `path`: the path of the file.
    - `time`: its column of times (s); in each trial they increase strictly.
    - `channels`, `inputs`: columns of what was measured and of what drives the model: names of
        columns, or a mapping from the names in the record to those in the file. Default of
        `inputs`: none.
    - `trial`: a column, of numbers or text, whose value tells the trials apart.
    - `delimiter`: between cells, one character.
    - `name`: the name of the record. Default: that of the file without its suffix. The value of
        the trial is appended.
    - `units`: by name of a channel or input, for instance `"rad"`. Values stay as they are.
    - `missing`: `"allow"` to read cells of channels that are empty or `nan` as missing samples;
        else `"error"`. A channel of which a trial has no sample is then left out of its record,
        unless it has no other.

    **Returns:** a [`jaxspark.fit.Record`][]; with `trial` a list of them, in the order in which
    trials begin.

    **Raises:** `DataError` that names file, line, column, value and cure: for a file that is
    missing, a folder, empty, without rows, or not UTF-8; for unknown columns; for rows with too
    few or too many cells; for cells that are empty, no number or not finite; for times that do
    not increase; for fewer than 2 samples; for channels without any sample.
    """
    check_missing(missing)
    path = Path(path)
    named = by_name(channels), by_name(inputs or ())
    wanted, labels = wanted_columns(time, *named, missing)
    table = read_table(path, delimiter, wanted, trial)
    records = []
    for part in parts_of(table):
        source = Source(
            str(path) if trial is None else f'{path}, trial "{part.trial}"',
            lambda index, part=part: f"{path}, line {line_of(path, delimiter, part.row(index))}",
        )
        title = path.stem if name is None else name
        title = title if trial is None else f"{title}, {trial} {part.trial}"
        arrays = [column[part.start : part.stop] for column in table.columns]
        records.append(as_record(source, title, arrays, named, units, missing, labels))
    for doubt in all_doubts(records):
        warnings.warn(doubt, DataWarning, stacklevel=2)
    return records[0] if trial is None else records


@overload
def from_dataframe(
    frame: Any,
    *,
    time: str = ...,
    channels: Columns,
    inputs: Columns | None = ...,
    trial: None = ...,
    name: str = ...,
    units: Mapping[str, str] | None = ...,
    missing: Missing = ...,
) -> Record: ...
@overload
def from_dataframe(
    frame: Any,
    *,
    time: str = ...,
    channels: Columns,
    inputs: Columns | None = ...,
    trial: str,
    name: str = ...,
    units: Mapping[str, str] | None = ...,
    missing: Missing = ...,
) -> list[Record]: ...
def from_dataframe(
    frame: Any,
    *,
    time: str = "time_s",
    channels: Columns,
    inputs: Columns | None = None,
    trial: str | None = None,
    name: str = "record",
    units: Mapping[str, str] | None = None,
    missing: Missing = "error",
) -> Record | list[Record]:
    """A record, or one for each trial, from a data frame of pandas, or one that looks like it.

    Columns of any type that converts to double precision are copied; nulls are NaN. Warns
    (`DataWarning`) as [`jaxspark.fit.record`][] does.

    **Arguments:**

    - `frame`: has `columns`, and gives one by `frame["its name"]`.
    - `time`, `channels`, `inputs`, `trial`, `units`, `missing`: as in
        [`jaxspark.fit.read_csv`][].
    - `name`: the name of the record; the value of the trial is appended.

    **Returns:** a [`jaxspark.fit.Record`][]; with `trial` a list of them, in the order in which
    trials begin.

    **Raises:** `DataError` as [`jaxspark.fit.read_csv`][], with the position of the row, counted
    from 0, in place of the line.
    """
    check_missing(missing)
    named = by_name(channels), by_name(inputs or ())
    wanted, labels = wanted_columns(time, *named, missing)
    whole = Source(f'frame "{name}"', lambda index: f'frame "{name}", row {index}')
    there = [str(column) for column in frame.columns]
    for column in [*(item.column for item in wanted), *([] if trial is None else [trial])]:
        if column not in there:
            raise unknown(whole.name, "column", column, there)
        if there.count(column) > 1:
            raise DataError(
                f'{whole.name}: {there.count(column)} columns are named "{column}". Give every '
                "column its own name."
            )
    columns = [as_numbers(whole, item.label, frame[item.column]) for item in wanted]
    values = [] if trial is None else [str(value).strip() for value in frame[trial]]
    for index, value in enumerate(values):
        if value in ("", "nan", "None", "<NA>", "NaT"):
            raise DataError(
                f'{whole.at(index)}: the trial (column "{trial}") is missing. Fill it, or remove '
                "the row."
            )
    numbered: dict[str, int] = {}
    codes = [numbered.setdefault(value, len(numbered)) for value in values]
    table = Table(columns, list(numbered), np.array(codes, dtype=np.int32))
    records = []
    for part in parts_of(table):
        source = Source(
            whole.name if trial is None else f'{whole.name}, trial "{part.trial}"',
            lambda index, part=part: whole.at(part.row(index)),
        )
        title = name if trial is None else f"{name}, {trial} {part.trial}"
        arrays = [column[part.start : part.stop] for column in table.columns]
        records.append(as_record(source, title, arrays, named, units, missing, labels))
    for doubt in all_doubts(records):
        warnings.warn(doubt, DataWarning, stacklevel=2)
    return records[0] if trial is None else records
