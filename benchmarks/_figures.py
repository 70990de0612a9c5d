"""A figure: what was measured, against which target, and whether it was reached."""

import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report.

    - `what`: is measured.
    - `target`: in words, for instance `"<= 1e-13"`; `"none"` where it only informs.
    - `measured`: the value, in words.
    - `ok`: whether the target is reached.
    """

    what: str
    target: str
    measured: str
    ok: bool

    def line(self) -> str:
        """The figure as a line of text."""
        verdict = "ok" if self.ok else "short"
        return f"{self.what} | {self.target} | {self.measured} | {verdict}"


def at_most(what: str, value: float, bound: float, form: str = ".2e") -> Figure:
    """A figure that must not exceed a bound."""
    return Figure(what, f"<= {bound:g}", format(value, form), bool(value <= bound))


def at_least(what: str, value: float, bound: float, form: str = ".2f") -> Figure:
    """A figure that must reach a bound."""
    return Figure(what, f">= {bound:g}", format(value, form), bool(value >= bound))


def near(what: str, value: float, target: float, within: float) -> Figure:
    """A figure that must lie within a distance of its target."""
    ok = abs(value - target) <= within
    return Figure(what, f"{target:g} +- {within:g}", f"{value:.3f}", bool(ok))


def note(what: str, measured: str) -> Figure:
    """A figure without a target."""
    return Figure(what, "none", measured, True)


def chosen(parts: Mapping[str, Callable[[bool], Iterator[Figure]]], only: str | None):
    """The figures of all parts of a topic, or of one, in full.

    **Raises:** `SystemExit` if there is no part of this name.
    """
    if only is not None and only not in parts:
        raise SystemExit(f"There is no part {only!r}; there are {', '.join(parts)}.")
    for name, part in parts.items():
        if only in (None, name):
            yield from part(False)


def topic(
    parts: Mapping[str, Callable[[bool], Iterator[Figure]]],
) -> tuple[Callable[..., Iterator[Figure]], Callable[[], Iterator[Figure]]]:
    """`figures` and `smoke` of a topic without pictures: all parts in full or one; all, tiny."""

    def figures(only: str | None = None, plots: pathlib.Path | None = None) -> Iterator[Figure]:
        del plots
        return chosen(parts, only)

    def smoke() -> Iterator[Figure]:
        for part in parts.values():
            yield from part(True)

    return figures, smoke


def report(figures: Iterable[Figure]) -> bool:
    """Print each figure as soon as it is measured; whether all were reached."""
    print("what | target | measured | ok or short", flush=True)
    short = 0
    for figure in figures:
        print(figure.line(), flush=True)
        short += not figure.ok
    print(f"{short} short" if short else "all reached", flush=True)
    return short == 0
