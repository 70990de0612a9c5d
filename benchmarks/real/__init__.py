"""Identification from measured records that nobody here made, `--data FOLDER`, and from many.

The folder has `multi_arm_pendulum/`, `bicycle/` and `double_pendulum/` with the CSV files of the
sources that the modules name. Without it the parts that need it say so, and nothing more.
"""

import functools
import os
import pathlib
from collections.abc import Callable, Iterator

from .._figures import chosen, Figure, note
from ._arm_figures import all_free, arm, chosen as chosen_law
from ._bicycle_figures import bicycle
from ._deficient import deficient
from ._drives import drives
from ._many import many
from ._scipy import beside_scipy


ARMS, DRIVES, BICYCLE = "multi_arm_pendulum", "double_pendulum", "bicycle"
FROM_DATA: dict[str, tuple[str, Callable[[pathlib.Path, bool], Iterator[Figure]]]] = {
    "single": (ARMS, functools.partial(arm, 1)),
    "law": (ARMS, chosen_law),
    "double": (ARMS, functools.partial(arm, 2)),
    "triple": (ARMS, functools.partial(arm, 3)),
    "double_free": (ARMS, functools.partial(all_free, 2)),
    "triple_free": (ARMS, functools.partial(all_free, 3)),
    "scipy": (ARMS, beside_scipy),
    "drives": (DRIVES, drives),
    "bicycle": (BICYCLE, bicycle),
}
MADE = {"deficient": deficient, "many": many}


def figures(
    only: str | None = None, plots: pathlib.Path | None = None, data: pathlib.Path | None = None
) -> Iterator[Figure]:
    """All parts in full, or one."""
    del plots
    # Cold times are those of all cores.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    parts = {name: functools.partial(_part, name, data) for name in FROM_DATA}
    return chosen({**parts, **MADE}, only)


def _part(name: str, data: pathlib.Path | None, tiny: bool) -> Iterator[Figure]:
    folder, part = FROM_DATA[name]
    if data is None or not (data / folder).is_dir():
        where = "--data FOLDER" if data is None else f"{folder} is not in the folder"
        yield note(name, f"not measured: no data ({where})")
        return
    yield from part(data / folder, tiny)


def smoke() -> Iterator[Figure]:
    """A tiny run of what needs no data."""
    for part in MADE.values():
        yield from part(True)
