"""Columns of numbers of a CSV file, block by block; line by line where a block is unusual."""

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from jaxtyping import Float, Int, Shaped

from ._check import DataError, Missing, not_finite, unknown
from ._text_file import not_text, opened


BLOCK = 2**20  # characters read at once
ROWS = 2**14  # rows converted at once, where a block is read line by line


class Wanted(NamedTuple):
    """One column to read as numbers.

    - `column`: as in the header.
    - `label`: in messages.
    - `missing`: `"allow"` if empty cells are NaN.
    """

    column: str
    label: str
    missing: Missing


class Table(NamedTuple):
    """The columns wanted, and of each row the number of its trial among `trials`."""

    columns: list[Float[np.ndarray, " n"]]
    trials: list[str]
    codes: Int[np.ndarray, " n"]


class Layout(NamedTuple):
    """The columns of one file: how many, which to read, and which tells trials apart."""

    path: Path
    delimiter: str
    width: int
    wanted: tuple[Wanted, ...]
    columns: tuple[int, ...]
    trial: tuple[int, str] | None


class Piece(NamedTuple):
    """Some rows of a file."""

    numbers: Float[np.ndarray, "n k"]
    trials: list[str]


class Growing:
    """An array to append to; its memory is moved, not copied, where the system can do it."""

    def __init__(self, dtype: type) -> None:
        self.array, self.size = np.empty(2**16, dtype), 0

    def append(self, part: Shaped[np.ndarray, " n"]) -> None:
        end = self.size + part.size
        if end > self.array.size:
            self.array.resize(max(end, self.array.size * 5 // 4), refcheck=False)
        self.array[self.size : end] = part
        self.size = end

    def done(self) -> Shaped[np.ndarray, " n"]:
        self.array.resize(self.size, refcheck=False)
        return self.array


def read_table(path: Path, delimiter: str, wanted: list[Wanted], trial: str | None) -> Table:
    """All rows of a CSV file, with its memory bounded by one and a quarter of the result."""
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"delimiter must be one character, such as a comma; got {delimiter!r}.")
    columns, codes = [Growing(np.float64) for _ in wanted], Growing(np.int32)
    numbered: dict[str, int] = {}
    try:
        with opened(path) as file:
            for piece in _pieces(path, file, delimiter, wanted, trial):
                for column, part in zip(columns, piece.numbers.T):
                    column.append(part)
                found = [numbered.setdefault(value, len(numbered)) for value in piece.trials]
                codes.append(np.array(found, dtype=np.int32))
    except UnicodeDecodeError:
        raise not_text(path) from None
    except csv.Error as error:
        raise DataError(
            f"{path}: {error}. A quotation mark may be opened and never closed."
        ) from None
    if not columns[0].size:
        raise DataError(
            f"{path}: the file has a header only, no rows of data. Was the measurement saved?"
        )
    return Table([column.done() for column in columns], list(numbered), codes.done())


def line_of(path: Path, delimiter: str, row: int) -> int:
    """The line of a row of data, counted from 1 as editors do."""
    with opened(path) as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        rows = (reader.line_num for cells in reader if not _blank(cells))
        return next(itertools.islice(rows, row + 1, None))


def _pieces(
    path: Path, file: TextIO, delimiter: str, wanted: list[Wanted], trial: str | None
) -> Iterator[Piece]:
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    header = next((cells for cells in reader if not _blank(cells)), None)
    if header is None:
        raise DataError(
            f"{path}: the file is empty. It must have a header and at least 2 rows of data."
        )
    layout = _layout(path, delimiter, [cell.strip() for cell in header], wanted, trial)
    line = reader.line_num
    while block := file.read(BLOCK):
        block += file.readline()
        plain = _unquoted(layout, block)
        if plain is None:
            # Its last line may end inside of quotes.
            yield from _by_line(layout, itertools.chain(io.StringIO(block), file), line)
            return
        piece = _at_once(layout, plain)
        if piece is None:
            yield from _by_line(layout, io.StringIO(block), line)
        else:
            yield piece
        line += block.count("\n")


def _layout(
    path: Path, delimiter: str, header: list[str], wanted: list[Wanted], trial: str | None
) -> Layout:
    def place(column: str) -> int:
        if column not in header:
            error = unknown(str(path), "column", column, header)
            others = [other for other in ";\t,|" if other != delimiter and other in header[0]]
            if len(header) == 1 and others:
                error = DataError(f"{error} Or set delimiter to {json.dumps(others[0])}.")
            raise error
        if header.count(column) > 1:
            raise DataError(
                f'{path}: the header has "{column}" {header.count(column)} times. Give every '
                "column its own name."
            )
        return header.index(column)

    columns = tuple(place(item.column) for item in wanted)
    at = None if trial is None else (place(trial), trial)
    return Layout(path, delimiter, len(header), tuple(wanted), columns, at)


def _at_once(layout: Layout, block: str) -> Piece | None:
    """All rows of a block by NumPy; `None` where anything is unusual."""
    if not _regular(layout, block):
        return None
    text = block
    if any(item.missing == "allow" for item in layout.wanted):
        # The second time for empty cells side by side.
        empty, filled = 2 * layout.delimiter, f"{layout.delimiter}nan{layout.delimiter}"
        text = text.replace(empty, filled).replace(empty, filled)
        text = text.replace(f"{layout.delimiter}\n", f"{layout.delimiter}nan\n")
    try:
        numbers = np.loadtxt(
            io.StringIO(text),
            delimiter=layout.delimiter,
            comments=None,
            usecols=layout.columns,
            ndmin=2,
        )
    except ValueError:
        return None
    for item, values in zip(layout.wanted, numbers.T):
        wrong = ~np.isfinite(values)
        if item.missing == "allow":
            wrong &= ~np.isnan(values)
        if wrong.any():
            return None
    if layout.trial is None:
        return Piece(numbers, [])
    at = layout.trial[0]
    rows = block.splitlines()
    trials = [row.split(layout.delimiter, at + 1)[at].strip() for row in rows]
    return Piece(numbers, trials) if all(trials) and len(trials) == len(numbers) else None


def _unquoted(layout: Layout, block: str) -> str | None:
    """A block without quotation marks; `None` if they hold line ends, delimiters or others."""
    if '"' not in block:
        return block
    if '""' in block or not layout.delimiter.isascii():
        return None
    characters = np.frombuffer(block.encode("utf-8"), dtype=np.uint8)
    inside = np.cumsum(characters == ord('"'), dtype=np.uint8) % 2 == 1
    marks = (characters == ord("\n")) | (characters == ord(layout.delimiter))
    return None if inside[marks].any() or inside[-1] else block.replace('"', "")


def _regular(layout: Layout, block: str) -> bool:
    """Whether all lines have as many cells as the header; blank lines have not."""
    if layout.delimiter == " " or not layout.delimiter.isascii():
        return False
    characters = np.frombuffer(block.encode("utf-8"), dtype=np.uint8)
    ends = characters == ord("\n")
    marks = ends[ends | (characters == ord(layout.delimiter))]
    if block[-1] != "\n":
        marks = np.append(marks, True)
    cells = np.diff(np.flatnonzero(marks), prepend=-1)
    return bool((cells == layout.width).all())


def _by_line(layout: Layout, lines: Iterable[str], before: int) -> Iterator[Piece]:
    """Row by row, to tell exactly what is wrong, if it is."""
    reader = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True)
    rows, trials = [], []
    for cells in reader:
        if _blank(cells):
            continue
        place = f"{layout.path}, line {before + reader.line_num}"
        if len(cells) != layout.width:
            few = "too few" if len(cells) < layout.width else "too many"
            raise DataError(
                f"{place}: {few} cells, {len(cells)}; the header has {layout.width}. Complete or "
                "remove the line; if commas are in numbers or text, use another delimiter."
            )
        pairs = zip(layout.wanted, layout.columns)
        rows.append([_number(place, item, cells[at].strip()) for item, at in pairs])
        if layout.trial is not None:
            trials.append(_trial(place, layout.trial, cells))
        if len(rows) == ROWS:
            yield Piece(np.array(rows), trials)
            rows, trials = [], []
    if rows:
        yield Piece(np.array(rows), trials)


def _number(place: str, item: Wanted, cell: str) -> float:
    if not cell and item.missing == "allow":
        return np.nan
    if not cell:
        cure = "Every sample needs it: fill the cell, or remove the line."
        if item.label.startswith("channel"):
            cure = 'Remove the line, or set missing to "allow" to fit without this sample.'
        raise DataError(f"{place}: the cell of {item.label} is empty. {cure}")
    try:
        value = float(cell)
    except ValueError:
        value = None
    if value is None or "_" in cell:
        cure = "Correct it, or leave the cell empty if the sample is missing."
        if cell.count(",") == 1:
            cure = "Write decimals with a point, not a comma."
        raise DataError(f"{place}: {item.label} is {cell!r}, which is no number. {cure}")
    if np.isinf(value) or (np.isnan(value) and item.missing == "error"):
        raise not_finite(place, item.label, value, item.missing)
    return value


def _trial(place: str, trial: tuple[int, str], cells: list[str]) -> str:
    value = cells[trial[0]].strip()
    if not value:
        raise DataError(
            f'{place}: the cell of the trial (column "{trial[1]}") is empty. Fill it, or remove '
            "the line."
        )
    return value


def _blank(cells: list[str]) -> bool:
    return not cells or (len(cells) == 1 and not cells[0].strip())
