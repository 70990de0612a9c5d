"""Cells of the audit, for development: error over tolerance and (accepted+rejected) steps.

python -m benchmarks.audit MECHANISM METHOD [--seeds N]; both may have wildcards, as in "Gauss*".
"""

import argparse
import fnmatch

import jax

from ._cells import cell, known_ends, Outcome, TOLERANCES
from ._members import MECHANISMS
from ._methods import METHODS


def _chosen(pattern: str, names: dict) -> list:
    """Those whose name fits; of methods and mechanisms alike."""
    found = [names[name] for name in names if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise SystemExit(f"There is no {pattern!r}; there are {', '.join(names)}.")
    return found


def line(runs: list[Outcome]) -> str:
    """The runs of one start in one line, tolerance by tolerance."""
    words = []
    for run in runs:
        told = f"{run.error:.2g}" if run.good else run.outcome
        words.append(f"{told} ({run.accepted}+{run.rejected})")
    return f"{runs[0].mechanism} {runs[0].method} start {runs[0].seed}: {', '.join(words)}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("mechanism", metavar="MECHANISM")
    parser.add_argument("method", metavar="METHOD")
    parser.add_argument("--seeds", type=int, default=1, help="how many starts")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print("tolerances", ", ".join(f"{tolerance:.0e}" for tolerance in TOLERANCES), flush=True)
    methods = _chosen(arguments.method, METHODS)
    for mechanism in _chosen(arguments.mechanism, MECHANISMS):
        ends = known_ends(mechanism, range(arguments.seeds))
        print(f"{mechanism.name}: reference to {max(known.end.error for known in ends):.1e}")
        for method in methods:
            if not method.suits(mechanism):
                continue
            for known in ends:
                print(line(list(cell(mechanism, method, [known], TOLERANCES))), flush=True)
        jax.clear_caches()


if __name__ == "__main__":
    main()
