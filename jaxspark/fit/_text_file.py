"""Files of text: opened, or why not."""

import difflib
from pathlib import Path
from typing import TextIO

from ._check import DataError


def opened(path: Path) -> TextIO:
    """A file to read, with or without a byte-order mark.

    **Raises:** `DataError` if it cannot be opened.
    """
    try:
        return path.open(encoding="utf-8-sig")
    except FileNotFoundError:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        there = [other.name for other in beside if other.is_file()]
        near = difflib.get_close_matches(path.name, there, n=1)
        hint = f' Did you mean "{near[0]}"?' if near else " Correct the path."
        raise DataError(f"{path}: there is no such file.{hint}") from None
    except IsADirectoryError:
        raise DataError(f"{path}: this is a folder. Give the path of one CSV file in it.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None


def not_text(path: Path) -> DataError:
    """Which line of a file is no text."""
    with path.open("rb") as file:
        for line, content in enumerate(file, 1):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"{path}, line {line}: the byte 0x{content[error.start]:02x} is not UTF-8 "
                    "text. Save the file as UTF-8 (in Excel: CSV UTF-8)."
                )
    return DataError(f"{path}: this is not UTF-8 text. Save the file as UTF-8.")
