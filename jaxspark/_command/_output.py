"""What commands write: reports, and tables of numbers."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..fit import Findings, ReportError, to_json, to_text, write_report
from ..fit._report._html import page
from ._errors import CommandError


as_json, as_text = to_json, to_text


def write(findings: Findings, folder: Path, *, figures: bool) -> Path:
    """Write a report, with figures or without.

    **Raises:** `CommandError`, of status 1, if something cannot be written.
    """
    try:
        if figures:
            return write_report(findings, folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("report.html", page(findings, {})), ("report.json", to_json(findings))):
            (folder / name).write_text(text, encoding="utf-8")
    except ReportError as error:
        raise CommandError(error, 1) from None
    except OSError as error:
        words = f"{folder}: the report cannot be written: {error.strerror}."
        raise CommandError(words, 1) from None
    return folder / "report.html"


def write_table(columns: Mapping[str, Float[np.ndarray, " n"]], path: Path | None) -> None:
    """Write columns as CSV, to a file or to standard output.

    Numbers have as many digits as they need to be read back the same; missing samples are
    empty.

    **Raises:** `CommandError`, of status 1, if the file cannot be written.
    """
    try:
        if path is None:
            sys.stdout.writelines(_lines(columns))
            sys.stdout.flush()
            return
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(columns))
    except BrokenPipeError:
        # Whoever reads has enough, as `head` has. Python would flush once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}.", 1) from None


def _lines(columns: Mapping[str, Float[np.ndarray, " n"]]) -> Iterator[str]:
    """The lines of a table."""
    yield ",".join(map(_cell, columns)) + "\n"
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        yield ",".join("" if value != value else repr(value) for value in row) + "\n"


def _cell(name: str) -> str:
    """A name as a cell of a header."""
    if not any(mark in name for mark in ',"\n'):
        return name
    return '"' + name.replace('"', '""') + '"'
