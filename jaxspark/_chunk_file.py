"""Files of arrays that are there whole or not at all, and belong to one computation."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class CheckpointError(ValueError):
    """A file that does not belong to this computation, or cannot be read."""


def save_chunk(path: Path, name: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and the name of what they are results of; if killed, there is no file."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    with beside.open("wb") as stream:
        np.savez(stream, fingerprint=np.array(name), **arrays)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, path)


def load_chunk(path: Path, name: str, belongs_to: str) -> dict[str, Any]:
    """The arrays of a file.

    **Arguments:**

    - `name`: of what they should be results of.
    - `belongs_to`: what another name says of the file, in words.

    **Raises:** `CheckpointError`.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            content: dict[str, Any] = dict(file)
        written = str(content.pop("fingerprint"))
    except (OSError, EOFError, TypeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{path}: this is no chunk of jaxspark ({error}). Delete it, or name another folder."
        ) from None
    if written != name:
        raise other_chunk(path, belongs_to)
    return content


def other_chunk(path: Path, belongs_to: str) -> CheckpointError:
    """The error of a file of another computation."""
    return CheckpointError(
        f"{path}: this chunk belongs to {belongs_to}. Delete the folder to begin again, or name "
        "another."
    )
