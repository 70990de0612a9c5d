"""The measured record: two columns, time and gyroscope voltage, read and checked."""

import csv
import importlib.resources
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


COLUMNS = ("time_s", "gyro_volt")
MIN_ROWS = 100


class RecordError(ValueError):
    """A record that cannot be used; the message says where and why."""


class Record(NamedTuple):
    """A uniformly sampled voltage.

    - `name`: where it comes from.
    - `t0`: time of the first sample (s).
    - `h`: sampling interval (s).
    - `volts`: the samples (V).
    """

    name: str
    t0: float
    h: float
    volts: Float[np.ndarray, " n"]

    @property
    def times(self) -> Float[np.ndarray, " n"]:
        """The sample times (s)."""
        return self.t0 + self.h * np.arange(self.volts.size)


def load_record(path: str | Path | None = None) -> Record:
    """Read a record.

    **Arguments:**

    - `path`: a CSV file with the header `time_s,gyro_volt`; `None` for the built-in
        measurement of a bicycle fork.

    **Returns:** the [`Record`][].

    **Raises:** `RecordError` if the file is missing or unreadable, has other columns, a
    value that is no finite number, fewer than 100 rows, a constant voltage, or times that
    do not increase in equal steps.

    Source of the built-in record: BicycleParameters 1.5.2, BrowserForkCompoundFirst1.mat
    (BSD 2-clause, `data/LICENSE.txt`), averaged to 100 Hz.
    """
    if path is None:
        built_in = importlib.resources.files("jaxspark._main") / "data" / "fork_pendulum_gyro.csv"
        with built_in.open(encoding="utf-8") as stream:
            return _parse("fork_pendulum_gyro.csv (built in)", stream)
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return _parse(str(path), stream)
    except FileNotFoundError:
        raise RecordError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(f"{path}: this is not a text file of comma-separated values.") from None


def _parse(name: str, stream: Iterable[str]) -> Record:
    reader = csv.reader(stream)
    header = tuple(cell.strip() for cell in next(reader, ()))
    if header != COLUMNS:
        found = ",".join(header) or "nothing"
        raise RecordError(f"{name}: the first line must be {','.join(COLUMNS)}; it is {found}.")
    rows, lines = [], []
    for cells in reader:
        if cells:
            rows.append(_numbers(name, reader.line_num, cells))
            lines.append(reader.line_num)
    if len(rows) < MIN_ROWS:
        raise RecordError(f"{name}: {len(rows)} rows of data; at least {MIN_ROWS} are needed.")
    times, volts = np.array(rows).T
    if np.ptp(volts) == 0:
        raise RecordError(f"{name}: the voltage never changes: {volts[0]} V in every row.")
    return Record(name, float(times[0]), _interval(name, times, lines), volts.copy())


def _numbers(name: str, line: int, cells: list[str]) -> list[float]:
    if len(cells) != len(COLUMNS):
        raise RecordError(
            f"{name}, line {line}: {len(cells)} values; each line must have "
            f"{len(COLUMNS)}, {' and '.join(COLUMNS)}."
        )
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        raise RecordError(f"{name}, line {line}: {','.join(cells)} are no numbers.") from None
    for column, value in zip(COLUMNS, values):
        if not math.isfinite(value):
            raise RecordError(f"{name}, line {line}: {column} is {value}, not a finite number.")
    return values


def _interval(name: str, times: Float[np.ndarray, " n"], lines: list[int]) -> float:
    """The sampling interval, if there is one."""
    steps = np.diff(times)
    backward = np.flatnonzero(steps <= 0)
    if backward.size:
        at = int(backward[0]) + 1
        raise RecordError(
            f"{name}, line {lines[at]}: time_s goes from {times[at - 1]:g} to "
            f"{times[at]:g}; it must increase from row to row."
        )
    interval = float((times[-1] - times[0]) / steps.size)
    uneven = np.abs(times - times[0] - interval * np.arange(times.size)) > 0.05 * interval
    if uneven.any():
        at = int(np.flatnonzero(uneven)[0])
        raise RecordError(
            f"{name}, line {lines[at]}: the times are not equally spaced. Resample the "
            "record to a constant rate."
        )
    return interval
