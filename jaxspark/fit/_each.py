"""Many records, each fitted by itself: a chunk at a time, resumable, by any number of processes."""

import csv
import hashlib
import operator
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from tqdm import tqdm

from .._chunk_file import CheckpointError, load_chunk, save_chunk
from ._checkpoint import fingerprint
from ._failure import check_whole
from ._lane import fitted_lanes, Lanes
from ._model import Model
from ._noise import known_noise, noise_of
from ._problem import channel_names, make_problem, Problem
from ._record import Record
from ._shaped import room_for, shaped
from ._spread import mesh_of
from ._suitable import as_records, needing_inputs


# How the fit of a record ended, by its code.
STATUS = (
    "converged",
    "not converged",
    "no step makes it better",
    "not simulated from the start",
    "no start shows its first samples",
)


@runtime_checkable
class Numbered(Protocol):
    """Records by their number, from 0; any list of records is one."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Record: ...


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Fits of many records, a row for each; made by [`jaxspark.fit.each`][].

    - `records`, `names`, `channels`: the names of the `n` records, the `p` parameters and the
        channels.
    - `codes`: how each fit ended, shape `(n,)`: 0 if it converged, a positive number if not, -1 for
        what is not there yet. `status` says it in words.
    - `iterations`: those of each fit, shape `(n,)`.
    - `values`, `errors`: estimates and standard errors, shape `(n, p)`. Errors are infinite where a
        record does not tell the parameter; both are NaN where there was no fit.
    - `rank`: how many combinations of all unknowns each record tells, its start included; shape
        `(n,)`.
    - `rms`: root mean square of the residuals, shape `(n, channels)`, in the unit of the channel.
    """

    records: tuple[str, ...]
    names: tuple[str, ...]
    channels: tuple[str, ...]
    codes: Int[np.ndarray, " n"]
    iterations: Int[np.ndarray, " n"]
    values: Float[np.ndarray, "n p"]
    errors: Float[np.ndarray, "n p"]
    rank: Int[np.ndarray, " n"]
    rms: Float[np.ndarray, "n channels"]

    @property
    def status(self) -> tuple[str, ...]:
        """How each fit ended, in words."""
        return tuple(STATUS[code] if code >= 0 else "not fitted yet" for code in self.codes)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        done = int(np.sum(self.codes == 0))
        return f"Table({len(self)} records; {done} converged; {', '.join(self.names)})"

    def to_csv(self, path: str | Path) -> Path:
        """Write the table, a line for each record.

        **Arguments:**

        - `path`: the file to write.

        **Returns:** the path.
        """
        head = ["record", "status", "iterations", "rank", *self.names]
        head += [f"{name} error" for name in self.names] + [f"{c} rms" for c in self.channels]
        with Path(path).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(head)
            columns = self.records, self.status, self.iterations, self.rank
            for k, row in enumerate(zip(*columns, strict=True)):
                numbers = np.concatenate([self.values[k], self.errors[k], self.rms[k]])
                writer.writerow([*row, *(repr(float(x)) for x in numbers)])
        return Path(path)


@needing_inputs()
def each(
    model: Model,
    records: Numbered | Record | Iterable[Record],
    *,
    chunk: int = 256,
    folder: str | Path | None = None,
    part: Any = (0, 1),
    max_iterations: int = 100,
    progress: bool = True,
    devices: Any = None,
    workers: int | None = None,
) -> Table:
    """Estimate the parameters of a model from each of many records by itself.

    It does what [`jaxspark.fit.estimate`][] does with each record alone. A record whose fit fails
    has the reason in its row, and spoils no other. A fit that has ended takes no more time on a
    CPU; on a GPU those of one chunk end together.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][] with one start for all, or
        [`jaxspark.fit.Start.from_channels`][].
    - `records`: a list, or anything with `len` that is indexed by numbers from 0: records that are
        read when they are asked for take no memory but that of their chunk.
    - `chunk`: how many records are arranged, and fitted, at a time.
    - `folder`: for a file of each chunk, written when it is done. Chunks that are there are not
        fitted again: after an interruption the same call goes on.
    - `part`: `(k, n)`: this process fits the chunks `k`, `k + n`, ... alone, of those that are not
        in the folder; for several hosts that share it. Rows of other chunks are those in the
        folder, or not fitted yet. A last call without it gathers all, and fits what was lost.
    - `max_iterations`, `progress`: as for [`jaxspark.fit.estimate`][].
    - `devices`: to split each chunk over, as for [`jaxspark.fit.estimate`][].
    - `workers`: how many threads fit chunks side by side. Default: on a CPU as many as this process
        may use cores, elsewhere one.

    **Returns:** a [`jaxspark.fit.Table`][], in the order of the records.

    **Raises:** `ValueError` for wrong options, or a start that has one guess for each record;
    `DataError` for records that do not suit the model; `CheckpointError` if a file in the folder
    belongs to other records or another model.
    """
    if isinstance(records, Record) or not isinstance(records, Numbered) or len(records) == 0:
        # One, an iterator, or none, which is refused.
        records = as_records(records)
    check_whole("chunk", chunk)
    check_whole("max_iterations", max_iterations)
    own, count = _checked_part(part)
    if len(model.start.alone()) > 1:
        raise ValueError("each needs one start for all records; Start.from_channels finds theirs.")
    firsts = list(range(0, len(records), chunk))
    where = None if folder is None else Path(folder)
    rows = _Rows(model, records, chunk, where, max_iterations, mesh_of(devices))
    todo = [k for k in range(len(firsts)) if k % count == own]
    found: dict[int, Any] = {}
    threads = _workers(workers, devices)
    with tqdm(total=len(todo), desc="each", unit="chunk", disable=not progress) as bar:
        # The first compiles for all.
        for some in (todo[:1], todo[1:]):
            with ThreadPoolExecutor(threads) as pool:
                for k, lanes in zip(some, pool.map(rows.of, some), strict=True):
                    found[k] = lanes
                    bar.update()
    for k in set(range(len(firsts))) - set(found):
        found[k] = rows.stored(k)
    return rows.table(found)


def _checked_part(part: Any) -> tuple[int, int]:
    try:
        own, count = map(operator.index, part)
    except (TypeError, ValueError):
        own, count = 0, 0
    if not 0 <= own < count:
        raise ValueError(f"part must be (k, n): part k, counted from 0, of n parts; got {part!r}.")
    return own, count


def _workers(workers: int | None, devices: Any) -> int:
    if workers is not None:
        check_whole("workers", workers)
        return workers
    if devices is not None or jax.default_backend() != "cpu":
        return 1
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


class _Rows:
    """Chunks of one call: those in the folder, and those that are fitted."""

    def __init__(self, model, records, chunk, folder, max_iterations, mesh):
        self.model, self.records, self.chunk = model, records, chunk
        self.folder, self.most, self.mesh = folder, max_iterations, mesh
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        first = [records[0]]
        self.known = jnp.asarray(known_noise(model, channel_names(model, first)))
        problem = make_problem(model, first, failed={})
        self.names, self.channels = problem.single.names, problem.channels
        self.name = fingerprint(problem, jnp.append(problem.start, max_iterations))

    def some(self, k: int) -> list[Record]:
        stop = min((k + 1) * self.chunk, len(self.records))
        return [self.records[i] for i in range(k * self.chunk, stop)]

    def of(self, k: int) -> tuple[list[str], Lanes]:
        """The rows of a chunk, from the folder or fitted."""
        some = self.some(k)
        failed: dict[int, str] = {}
        path, name = self._path(k), self._named(some)
        if path is not None and path.exists():
            return [record.name for record in some], _loaded(path, name)
        problem, sigma = self._arranged(some, failed)
        lanes = fitted_lanes(problem, sigma, self.known, self.most, self.mesh)
        lanes = Lanes(*(np.array(x)[: len(some)] for x in lanes))
        lost = [k for k in failed if k < len(some)]
        lanes.codes[lost] = STATUS.index("no start shows its first samples")
        for column in (lanes.values, lanes.errors, lanes.rms):
            column[lost] = np.nan
        if path is not None:
            save_chunk(path, name, lanes._asdict())
        return [record.name for record in some], lanes

    def stored(self, k: int) -> tuple[list[str], Lanes | None]:
        """The rows of a chunk that another process fits, if it is done."""
        path, some = self._path(k), self.some(k)
        names = [record.name for record in some]
        if path is None or not path.exists():
            return names, None
        return names, _loaded(path, self._named(some))

    def _arranged(self, some: list[Record], failed: dict[int, str]) -> tuple[Problem, Any]:
        """A chunk, filled up with its first records, and the noise of each."""
        filled = [some[i % len(some)] for i in range(min(self.chunk, len(self.records)))]
        sigma = np.stack([noise_of(self.model, [record], self.channels) for record in filled])
        problem = make_problem(self.model, filled, failed=failed)
        room = room_for(problem)
        return shaped(problem, *room), jnp.asarray(sigma)

    def _named(self, some: list[Record]) -> str:
        """A name of the records of a chunk, and of the model and the options."""
        digest = hashlib.sha256(self.name.encode())
        for record in some:
            digest.update(repr(record).encode())
            for values in (record.times, *record.channels.values(), *record.inputs.values()):
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def _path(self, k: int) -> Path | None:
        return None if self.folder is None else self.folder / f"chunk-{k:06d}.npz"

    def table(self, found: dict[int, Any]) -> Table:
        names = [name for k in sorted(found) for name in found[k][0]]
        nothing = lambda size: Lanes.nothing(size, len(self.names), len(self.channels))
        parts = [found[k][1] or nothing(len(found[k][0])) for k in sorted(found)]
        joined = Lanes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return Table(tuple(names), self.names, self.channels, *joined)


def _loaded(path: Path, name: str) -> Lanes:
    content = load_chunk(path, name, "other records, another model or other options")
    try:
        return Lanes(**content)
    except TypeError as error:
        raise CheckpointError(
            f"{path}: this is no chunk of fits ({error}). Delete it, or name another folder."
        ) from None
