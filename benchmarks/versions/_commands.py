"""The two commands of the README, on a clone, each in an environment of its own."""

import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterator

from .._figures import at_most, Figure, note
from ._on import last_line, LOWEST, MIDDLE, NEWEST, ROOT, run, run_on, Versions, words


MINUTES = 10


def commands(tiny: bool) -> Iterator[Figure]:
    """Both commands, at both ends and between; the second is timed."""
    if tiny:
        return
    for versions in (LOWEST, MIDDLE, NEWEST):
        yield from _both(versions)


def _both(versions: Versions) -> Iterator[Figure]:
    # Not that of the environment, which ends with this command.
    found = run_on((versions[0], "none"), "python", "-c", "import sys; print(sys.base_prefix)")
    if found.status:
        yield Figure(f"README, {words(versions)}", "passes", last_line(found), False)
        return
    for number, command in enumerate(_of_readme(f"{last_line(found)}/bin/python{versions[0]}"), 1):
        with tempfile.TemporaryDirectory() as folder:
            clone = pathlib.Path(folder) / "clone"
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
            environment = {**os.environ, **_constraints(versions, folder)}
            done = run(["bash", "-c", command], environment, clone)
        what = f"README, {words(versions)}, command {number}"
        verdict = f"exit status {done.status}; {last_line(done)}"
        yield Figure(what, "passes", verdict, done.status == 0)
        minutes = done.seconds / 60
        if number == 2 and versions[1] == "newest":
            yield at_most(f"{what}: wall minutes", minutes, MINUTES, ".1f")
        else:
            yield note(f"{what}: wall minutes", f"{minutes:.1f}")


def _of_readme(python: str) -> list[str]:
    """The commands, with this Python."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## Two commands.*?```bash\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [line.replace("python3", python, 1) for line in block[1].strip().splitlines()]


def _constraints(versions: Versions, folder: str) -> dict[str, str]:
    """What holds pip to the lowest versions."""
    if versions[1] != "lowest":
        return {}
    path = pathlib.Path(folder) / "lowest.txt"
    lowest = run_on((versions[0], "none"), "python", ".ci/lowest.py")
    path.write_text("\n".join(x for x in lowest.output.splitlines() if "==" in x[1:]) + "\n")
    return {"PIP_CONSTRAINT": str(path)}
