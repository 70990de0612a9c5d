"""Where it was measured: machine, versions, commit, and which peers are not there."""

import importlib.metadata
import itertools
import os
import pathlib
import platform
import re
import subprocess
import tomllib
from collections.abc import Iterator

import jax


ROOT = pathlib.Path(__file__).parents[2]
# Which of the optional packages are solvers to compare with, or what these need.
EXTRAS = ("peers", "klu", "diffrax")
GIB = 2**30


def machine() -> dict[str, str]:
    """Processor, cores, memory, operating system and Python, by name, in words."""
    cores = f"{os.cpu_count()}, of which this process may use {_usable_cores()}"
    return {
        "processor": _processor(),
        "cores": cores,
        "memory": _memory(),
        "operating system": _system(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "device of JAX": ", ".join(str(device.device_kind) for device in jax.devices()),
    }


def versions() -> dict[str, str]:
    """The versions of jaxspark, of what it needs, and of the peers that are installed."""
    found = {name: _version(name) for name in ("jaxspark", *required(), *optional())}
    return {name: version for name, version in found.items() if version is not None}


def missing() -> tuple[str, ...]:
    """The peers that are not installed."""
    return tuple(name for name in optional() if _version(name) is None)


def required() -> tuple[str, ...]:
    """The packages that jaxspark needs, as its `pyproject.toml` names them."""
    return tuple(map(_name, _project()["dependencies"]))


def optional() -> tuple[str, ...]:
    """The packages that only comparisons need."""
    return tuple(map(_name, itertools.chain.from_iterable(map(_extra, EXTRAS))))


def commit() -> str:
    """The commit of the source, and whether it was changed since; `"unknown"` without git."""
    revision = _git("rev-parse", "HEAD")
    if revision is None:
        return "unknown"
    return f"{revision} with changes" if _git("status", "--porcelain") else revision


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _extra(name: str) -> Iterator[str]:
    """What it requires, that of other extras of jaxspark included."""
    for line in _project()["optional-dependencies"][name]:
        found = re.match(r"jaxspark\[([\w,-]+)\]", line)
        if found is None:
            yield line
        else:
            yield from itertools.chain.from_iterable(map(_extra, found[1].split(",")))


def _name(requirement: str) -> str:
    """Without versions and extras."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    path = pathlib.Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not everywhere
        return "unknown"
    return f"{size / GIB:.1f} GiB"


def _system() -> str:
    try:
        name = f"{platform.freedesktop_os_release()['PRETTY_NAME']}, "
    except (OSError, KeyError):  # only Linux has it
        name = ""
    return f"{name}{platform.system()} {platform.release()}, {platform.machine()}"
