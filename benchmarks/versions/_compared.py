"""The figures of other topics on the newest of everything, next to the lowest."""

import math
import re
from collections.abc import Iterator

from .._figures import Figure, note
from ._on import Done, LOWEST, NEWEST, run_on


# Machines are noisy by as much in an hour: what is little above this is to be measured again.
MOST = 1.10
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TIMES = re.compile(r"seconds|\bms\b|CPU s\b|a second")
# What is a quotient of two costs, both of which are compared, is none.
QUOTIENTS = re.compile(r"over that of the value|over value")
RATES = re.compile(r"per CPU s|a second")
# No release of these is for all versions of NumPy that are supported: pip would search for long.
PEERS = "casadi exudyn 'mujoco<4' scikit-sundae solve_dae numba==0.60.0 llvmlite==0.43.0"
OF_PEERS = "absl-py etils glfw pyopengl fsspec importlib_resources zipp"


def core(tiny: bool) -> Iterator[Figure]:
    """What steps, gradients and compilation cost, and the main job."""
    yield from () if tiny else _both("core", ("cost", "main_job"))


def speed(tiny: bool) -> Iterator[Figure]:
    """Everything that the topic of speed measures, peers among it."""
    yield from () if tiny else _both("speed", ("",))


def fit(tiny: bool) -> Iterator[Figure]:
    """What a fit costs."""
    yield from () if tiny else _both("fit", ("cost",))


def _both(topic: str, parts: tuple[str, ...]) -> Iterator[Figure]:
    for part in parts:
        lowest = lines_of(figures_of(LOWEST, topic, part))
        newest = lines_of(figures_of(NEWEST, topic, part))
        for name, value in newest.items():
            if timed(name) and name in lowest:
                yield _compared(f"{topic}: {name}", lowest[name], value)
            elif timed(name):
                yield note(f"{topic}: {name}", f"newest {value}; lowest not measured")


def _compared(name: str, lowest: str, newest: str) -> Figure:
    ratio = ratio_of(newest, lowest)
    ratio = 1 / ratio if RATES.search(name) else ratio
    words = f"newest {newest}, lowest {lowest}; cost {ratio:.2f} of that"
    # Rivals are no concern of ours but as a measure of the machine and of JAX.
    if re.search(r"over ours|diffrax|CasADi|idas|IDA|Radau|Exudyn|MuJoCo|by hand", name):
        return note(name, words)
    return Figure(name, f"<= {MOST:g}", words, bool(ratio <= MOST))


def figures_of(versions: tuple[str, str], topic: str, part: str) -> Done:
    """A part of a topic, measured with these versions."""
    measure = f"python -m benchmarks figures {topic}" + (f" --only {part}" if part else "")
    # Not before the package: pip would change its versions.
    peers = f"pip install --quiet --no-deps {PEERS} {OF_PEERS}" if versions == LOWEST else "true"
    extras = "tests" if versions == LOWEST else "tests,peers"
    return run_on(versions, "bash", "-c", f"{peers}; {measure}", extras=extras)


def lines_of(done: Done) -> dict[str, str]:
    """What was measured, by what it is."""
    rows = [line.split(" | ") for line in done.output.splitlines()]
    return {row[0]: row[2] for row in rows if len(row) == 4 and row[0] != "what"}


def timed(name: str) -> bool:
    """Whether a figure is a cost: a time, or a rate."""
    return TIMES.search(name) is not None and QUOTIENTS.search(name) is None


def ratio_of(value: str, other: str) -> float:
    """Of the first numbers of two measured values; NaN where there is none."""
    number = number_in(other)
    return number_in(value) / number if number else math.nan


def number_in(words: str) -> float:
    """The first number of a measured value."""
    found = NUMBER.search(words)
    return float(found[0]) if found else math.nan
