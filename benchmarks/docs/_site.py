"""The site, built anew from a clone."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple


ROOT = pathlib.Path(__file__).resolve().parents[2]


class Site(NamedTuple):
    """What a build made.

    - `folder`: of the pages; it is there until the process ends.
    - `seconds`: wall time.
    - `status`: the exit status of Sphinx, by which any warning is an error; `words`: its last ones.
    """

    folder: pathlib.Path
    seconds: float
    status: int
    words: str


def on_all_cores() -> None:
    """Of the process that calls it: figures are measured on one core otherwise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


@functools.cache
def site(whole: bool) -> Site:
    """Build it, with all tutorials and scripts run, or without.

    Of files that are not committed it sees nothing.
    """
    scratch = tempfile.TemporaryDirectory()
    _KEPT.append(scratch)
    clone = pathlib.Path(scratch.name) / "clone"
    if (ROOT / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    else:
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns("_build", ".venv"))
    folder = clone / "docs" / "_build" / "html"
    short = [] if whole else ["-D", "run_tutorials=0", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", *short]
    begin = time.monotonic()
    done = subprocess.run(
        [*command, "docs", str(folder)],
        cwd=clone, preexec_fn=on_all_cores, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(clone), "MPLBACKEND": "agg"},
    )  # fmt: skip
    words = (done.stderr.strip().splitlines() or [""])[-1]
    return Site(folder, time.monotonic() - begin, done.returncode, words)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
