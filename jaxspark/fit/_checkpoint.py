"""A fit on disk, so that it can be stopped and resumed."""

import dataclasses
import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from .._chunk_file import CheckpointError as CheckpointError
from .._described import described
from ._levenberg import State
from ._problem import Problem


# Of the arrays in a file: other versions have another state of the search.
SCHEMA = 3


def fingerprint(problem: Problem, start: Float[Array, " p"]) -> str:
    """A name of the data, the specifications and the settings of a problem, and of its start.

    Functions of the model are known by their code, that of functions beside them which they call,
    and the values they hold; see [`described`][]. What they take from other packages, and the
    content of files, counts by name only. Titles, what is drawn, and devices do not count.
    """
    digest = hashlib.sha256()
    model = dataclasses.replace(problem.model, title="", points=None, lines=())
    for piece in described((dataclasses.replace(problem, model=model, mesh=None), start)):
        digest.update(f"{len(piece)} ".encode())
        digest.update(piece)
    return digest.hexdigest()


def save(path: Path, name: str, state: State, history: list[float]) -> None:
    """Write a checkpoint of the fit with this fingerprint; if killed, the one before is left."""
    leaves = jax.tree.leaves(state)
    arrays: dict[str, Any] = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    described = json.dumps({"schema": SCHEMA, "fingerprint": name})
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as stream:
        np.savez(stream, history=np.asarray(history), described=np.array(described), **arrays)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, path)


def load(path: Path, name: str, like: State) -> tuple[State, list[float]] | None:
    """The state that was saved, or `None` if there is none.

    **Raises:** `CheckpointError` if the file is none of ours or of another fit.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            content: dict[str, Any] = dict(file)
        described = json.loads(str(content["described"]))
    except (OSError, EOFError, TypeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{path}: this is no checkpoint of jaxspark ({error}). Delete it, or name another file."
        ) from None
    if described.get("schema") != SCHEMA:
        raise CheckpointError(
            f"{path}: this checkpoint was written by another version of jaxspark. Delete it to "
            "begin again, or name another file."
        )
    if described.get("fingerprint") != name:
        raise CheckpointError(
            f"{path}: this checkpoint belongs to another fit: data, parameters, start values or "
            "settings have changed since. Delete it to begin again, or name another file."
        )
    leaves, structure = jax.tree.flatten(like)
    found = [jax.numpy.asarray(content[f"leaf_{i}"], leaf.dtype) for i, leaf in enumerate(leaves)]
    return jax.tree.unflatten(structure, found), [float(x) for x in content["history"]]
