"""The report as text, for a terminal."""

import math
import textwrap

from .._findings import Estimate, Findings
from .._text_table import columns, one_line
from ._digits import MISSING, number, seconds
from ._estimates import any_correlated, cells, correlated, flags
from ._labels import labelled
from ._next import next_steps
from ._scores import comparisons, pooled_ratio, scores
from ._verdict import ending, verdict


WIDTH = 96


def to_text(findings: Findings) -> str:
    """The report as text in aligned columns.

    **Arguments:**

    - `findings`: the [`jaxspark.fit.Findings`][] to report.

    **Returns:** title, verdict, parameters, initial states, what the data do not tell, how well
    each trial is explained, warnings, what to do next, and numerics; without a line end.
    """
    findings = labelled(findings)
    sentence = textwrap.fill(verdict(findings).replace("R²", "R^2"), WIDTH)
    parts = [
        f"{one_line(findings.title)}\n{sentence}",
        _estimates("Parameters", findings.estimates, findings.level),
        _estimates("Initial states", findings.initial_states, findings.level),
        _list("The data do not tell", findings.unidentifiable),
        _quality(findings),
        _list("Warnings", findings.warnings),
        _sentences("What to do next", next_steps(findings)),
        _numerics(findings),
    ]
    return "\n\n".join(part for part in parts if part)


def _columns(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]], left: str) -> str:
    """A table under a title."""
    return "\n".join([title, *(f"  {line}" for line in columns(heads, rows, left))])


def _estimates(title: str, estimates: tuple[Estimate, ...], level: float) -> str:
    if not estimates:
        return ""
    coloured = any_correlated(estimates)
    heads = (
        title[:-1].lower(), "value", "error", *(("if correlated",) if coloured else ()),
        "relative", f"{number(100 * level)} % interval", "start", "unit", "",
    )  # fmt: skip
    rows = []
    for estimate in estimates:
        value, error, *others = cells(estimate)
        other = (correlated(estimate),) if coloured else ()
        marks = ", ".join(flags(estimate))
        rows.append((estimate.name, value, error, *other, *others, estimate.unit, marks))
    return _columns(title, heads, rows, "l" + "r" * (len(heads) - 3) + "ll")


def _list(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([title, *(f"  {one_line(item)}" for item in items)]) if items else ""


def _sentences(title: str, items: tuple[str, ...]) -> str:
    wrapped = [
        textwrap.fill(item, WIDTH, initial_indent="  ", subsequent_indent="    ") for item in items
    ]
    return "\n".join([title, *wrapped]) if items else ""


def _quality(findings: Findings) -> str:
    of = scores(findings)
    if not of:
        return ""
    words = {True: "white", False: "not white", None: MISSING}
    rows = [
        (
            score.trial.name,
            "held out" if score.trial.held_out else "fitted",
            score.channel.name,
            number(score.channel.r_squared, 5),
            number(score.rms, 3),
            score.channel.unit,
            number(score.ratio, 3),
            words[score.white],
        )
        for score in of
    ]
    heads = ("trial", "", "channel", "R^2", "rms", "unit", "rms/noise", "residuals")
    table = _columns("Fit", heads, rows, "lllrrlrl")
    pooled = pooled_ratio(tuple(score for score in of if score.trial.held_out))
    lines = [table]
    if not math.isnan(pooled):
        lines.append(f"Held-out trials together: {number(pooled, 3)} times the noise.")
    return "\n  ".join([*lines, *comparisons(findings)])


def _numerics(findings: Findings) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in findings.versions.items())
    lines = [
        "Numerics",
        *textwrap.wrap(
            one_line(ending(findings)), WIDTH, initial_indent="  ", subsequent_indent="  "
        ),
        f"  {seconds(findings.seconds)}; worst constraint residual "
        f"{number(findings.worst_residual, 2)}",
        f"  {versions}" if versions else "",
    ]
    return "\n".join(line for line in lines if line)
