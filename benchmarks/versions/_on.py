"""Commands in new environments of chosen versions, by `.ci/on`."""

import os
import pathlib
import subprocess
import time
from typing import NamedTuple


ROOT = pathlib.Path(__file__).parents[2]
# Both ends of what is supported, and what lies between.
LOWEST, MIDDLE, NEWEST = ("3.11", "lowest"), ("3.12", "newest"), ("3.13", "newest")
Versions = tuple[str, str]


class Done(NamedTuple):
    """A command that ended: its exit status, what it printed, and wall seconds."""

    status: int
    output: str
    seconds: float


def run_on(versions: Versions, *command: str, extras: str = "tests", **variables: str) -> Done:
    """Run a command in the root of the checkout, installed with these versions.

    **Arguments:**

    - `versions`: of Python, and `lowest` or `newest` of the rest.
    - `extras`: to install.
    - `variables`: of the environment, besides those there are.
    """
    environment = {**os.environ, "EXTRAS": extras, **variables}
    return run([str(ROOT / ".ci" / "on"), *versions, *command], environment)


def run(command: list[str], environment: dict[str, str], folder: pathlib.Path = ROOT) -> Done:
    """Run a command."""
    begun = time.perf_counter()
    done = subprocess.run(
        command, env=environment, cwd=folder, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, preexec_fn=_on_all_cores,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, time.perf_counter() - begun)


def _on_all_cores() -> None:
    """Figures stay on one core; a command of its own has all of them, as a user's has."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def words(versions: Versions) -> str:
    """Versions in words."""
    return f"Python {versions[0]}, {versions[1]}"


def last_line(done: Done) -> str:
    """The last line that was printed."""
    lines = done.output.strip().splitlines()
    return lines[-1].strip("= ") if lines else ""
