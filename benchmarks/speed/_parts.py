"""A part of the report from the results of what was measured."""

from collections.abc import Callable, Iterator, Sequence

from .._figures import Figure, note
from .._result import Result


Measure = Callable[[bool], Iterator[Result]]
Judge = Callable[[Sequence[Result]], Iterator[Figure]]


def part(measure: Measure, judge: Judge) -> Callable[[bool], Iterator[Figure]]:
    """A line for each result, as soon as there is one, then the verdicts.

    **Arguments:**

    - `measure`: the results; tiny ones if its argument is true.
    - `judge`: the figures that follow from all results.
    """

    def figures(tiny: bool) -> Iterator[Figure]:
        results = []
        for result in measure(tiny):
            results.append(result)
            yield line(result)
        yield from judge(results)

    return figures


def line(result: Result) -> Figure:
    """A result as a line of the report."""
    what = f"{result.section}, {result.problem}, {result.solver}, {result.setting}"
    words = [f"CPU {1e3 * result.seconds:.4g} ms", f"error {result.error:.1e}"]
    if result.residual == result.residual:
        words.append(f"residual {result.residual:.1e}")
    words += [f"{name} {value:.4g}" for name, value in result.extra.items()]
    return note(what, ", ".join(words))
