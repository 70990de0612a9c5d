"""The reference values of the test problems."""

from collections.abc import Iterable, Iterator

from .._figures import at_least, Figure
from ..problems import Case, CASES, compare, solve


def correct_digits(cases: Iterable[Case]) -> Iterator[Figure]:
    """Correct digits at the worst checkpoint of each problem."""
    for case in cases:
        reached = compare(case, solve(case))
        for index, name in enumerate(("y", "z", "multipliers")):
            worst = min(row[index + 1] for row in reached)
            what = f"digits of {name}, {case.name}, {case.method}, {case.num_steps} steps"
            yield at_least(what, worst, case.digits[index])


def references(tiny: bool) -> Iterator[Figure]:
    """Those of the problems by Gauss and Radau methods."""
    yield from correct_digits(CASES[:1] if tiny else CASES)
