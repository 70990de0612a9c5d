"""CPU seconds of the first call, each in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from .._figures import at_most, Figure, note
from ._members import MEMBERS


SMALL = 12  # coordinates up to which seconds have a target
OVER_KKT = {"value": 0.6, "gradient": 0.35}
SECONDS = {"default": {"value": 1.5, "gradient": 3.5}, "Gauss(3)": {"value": 2.5, "gradient": 5.0}}


def first_call(tiny: bool) -> Iterator[Figure]:
    """Of a value, and of a value and gradient, next to what is written by hand."""
    names = list(MEMBERS)[:1] if tiny else list(MEMBERS)
    for what in ("value", "gradient"):
        found = {
            program: {name: _seconds(name, program, what) for name in names}
            for program in ("default", "Gauss(3)", "by hand")
        }
        for name in names:
            words = ", ".join(f"{program} {of[name]:.2f}" for program, of in found.items())
            yield note(f"{name}: first {what}, CPU seconds", words)
        if tiny:
            continue
        ratios = [found["default"][name] / found["by hand"][name] for name in names]
        mean = float(np.exp(np.mean(np.log(ratios))))
        yield at_most(f"first {what} over that by hand, mean", mean, OVER_KKT[what], ".3f")
        yield note(f"first {what} over that by hand, worst", f"{max(ratios):.3f}")
        small = [name for name in names if len(MEMBERS[name].y) <= SMALL]
        for program, targets in SECONDS.items():
            worst = max(found[program][name] for name in small)
            what_of = f"first {what}, {program}, up to {SMALL} coordinates: CPU seconds, worst"
            yield at_most(what_of, worst, targets[what], ".2f")


def _seconds(name: str, program: str, what: str) -> float:
    command = [sys.executable, "-m", "benchmarks.fresh._one_first_call", name, program, what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])
