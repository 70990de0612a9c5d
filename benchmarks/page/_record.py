"""All that one run of the comparison has measured, and where."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .._result import Result
from ._machine import commit, machine, missing, versions


@dataclass(frozen=True)
class Part:
    """The results of a section.

    - `name`: of the section.
    - `state`: `"complete"`, `"interrupted"`, or how it failed, in words.
    - `seconds`: wall time of all its measurements, compilation included.
    - `results`: in the order in which they were measured.
    """

    name: str
    state: str
    seconds: float
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Record:
    """A run: where and when, and the sections that were measured.

    - `started`: time and date, ISO 8601.
    - `commit`: of the source, of git.
    - `machine`, `versions`: by name, in words.
    - `missing`: the peers that are not installed.
    - `parts`: the sections, in the order in which they were measured.
    """

    started: str
    commit: str
    machine: dict[str, str]
    versions: dict[str, str]
    missing: tuple[str, ...]
    parts: tuple[Part, ...] = field(default=())

    def joined(self, part: Part) -> "Record":
        """The same with one more section."""
        return replace(self, parts=(*self.parts, part))

    def results(self) -> Iterator[Result]:
        """Those of all sections."""
        for part in self.parts:
            yield from part.results


def begun() -> Record:
    """An empty record of a run that starts here and now."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Record(now, commit(), machine(), versions(), missing())
