"""The tables of the page."""

import math
import re
from html import escape

import numpy as np

from .._findings import Combination, Estimate, Findings
from ._digits import interval, MISSING, number, percent, whole
from ._estimates import any_correlated, cells, correlated, flags, free
from ._scores import scores


# Parameters with less weight are not named, directions beyond this number not listed.
SMALLEST_WEIGHT, MOST_DIRECTIONS = 0.2, 8


def pretty(text: str) -> str:
    """Numbers as they are typeset, instead of as they are typed."""
    if text == MISSING:
        return "–"
    text = re.sub(r"(\d)e(-?\d+)", r"\1 × 10<sup>\2</sup>", text)
    return text.replace("-", "−").replace("inf", "∞")


def with_powers(text: str) -> str:
    """A unit or a product as HTML, with its powers raised."""
    product = escape(text).replace(" * ", " · ")
    return re.sub(r"\^(-?[\d.]*\d)", lambda power: f"<sup>{pretty(power[1])}</sup>", product)


def _unit(text: str) -> str:
    return f'<span class="unit">{with_powers(text)}</span>'


def table(
    caption: str, heads: tuple[str, ...], rows: list[tuple[str, ...]], numeric: tuple[int, ...]
) -> str:
    """A table with headers of columns and rows.

    **Arguments:**

    - `caption`: for those who do not see it.
    - `heads`: of the columns, as HTML.
    - `rows`: cells, as HTML. The first of each names the row.
    - `numeric`: the columns with numbers, which are set flush right.
    """

    def kind(column: int) -> str:
        return ' class="number"' if column in numeric else ""

    head = "".join(f'<th scope="col"{kind(at)}>{text}</th>' for at, text in enumerate(heads))
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{kind(at)}>{cell}</td>" for at, cell in enumerate(row[1:], 1))
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def estimates_table(caption: str, estimates: tuple[Estimate, ...], level: float) -> str:
    """Values, errors, intervals and flags; errors for correlated residuals where these are."""
    coloured = any_correlated(estimates)
    heads = (
        "parameter", "value", "± error", *(("± if correlated",) if coloured else ()), "relative",
        f"{pretty(number(100 * level))} % interval", "start", "unit", "",
    )  # fmt: skip
    rows = []
    for estimate in estimates:
        marks = "".join(
            f'<span class="flag {"quiet" if flag == "held" else "bad"}">{flag}</span> '
            for flag in flags(estimate)
        )
        value, error, *others = (pretty(cell) for cell in cells(estimate))
        other = (pretty(correlated(estimate)),) if coloured else ()
        numbers = (value, error, *other, *others)
        rows.append((escape(estimate.name), *numbers, _unit(estimate.unit), marks))
    return table(caption, heads, rows, numeric=tuple(range(1, len(heads) - 2)))


def scores_table(findings: Findings) -> str:
    """How well each trial is explained, fitted and held out."""
    heads = (
        "trial", "channel", "unit", "samples", "R²", "rms of residuals", "noise σ", "rms / σ"
    )  # fmt: skip
    rows = []
    for score in scores(findings):
        channel = score.channel
        name = escape(score.trial.name)
        if score.trial.held_out:
            name += ' <span class="flag held-out">held out</span>'
        missing = f" <small>({whole(score.missing)} missing)</small>" if score.missing else ""
        rows.append(
            (
                name,
                escape(channel.name),
                _unit(channel.unit),
                f"{whole(score.samples)}{missing}",
                pretty(number(channel.r_squared, 5)),
                pretty(number(score.rms, 3)),
                pretty(number(channel.sigma, 3)),
                pretty(number(score.ratio, 3)),
            )
        )
    return table("How well each trial is explained", heads, rows, numeric=(3, 4, 5, 6, 7))


def whiteness_table(findings: Findings) -> str:
    """Whether residuals look like white noise."""
    heads = (
        "trial", "channel", "correlation of neighbours", "95 % bound", "lags outside",
        "Ljung–Box p", "",
    )  # fmt: skip
    words = {True: "white", False: "not white"}
    classes = {True: "good", False: "warn", None: "quiet"}
    rows = []
    for score in scores(findings):
        whiteness = score.channel.whiteness
        said = whiteness.note or "not tested" if score.white is None else words[score.white]
        rows.append(
            (
                escape(score.trial.name),
                escape(score.channel.name),
                pretty(number(score.next_one, 2)),
                f"± {pretty(number(whiteness.bound, 2))}",
                pretty(percent(score.outside)),
                pretty(number(whiteness.p_value, 2)),
                f'<span class="flag {classes[score.white]}">{escape(said)}</span>',
            )
        )
    return table("Whiteness of the residuals", heads, rows, numeric=(2, 3, 4, 5))


def combinations_table(findings: Findings) -> str:
    """The directions known worst."""
    rows = []
    for combination in findings.combinations[:MOST_DIRECTIONS]:
        known = math.isfinite(combination.error)
        error = pretty(percent(combination.error)) if known else "∞"
        mark = "" if known else '<span class="flag bad">not told by the data</span>'
        rows.append((with_powers(combination.words), error, _weights(findings, combination), mark))
    heads = ("combination", "relative error", "weights of the parameters", "")
    return table("Directions known worst", heads, rows, numeric=(1,))


def _weights(findings: Findings, combination: Combination) -> str:
    names = [estimate.name for estimate in free(findings)]
    weights = combination.weights
    if len(names) != weights.size:
        return ""
    order = np.argsort(-np.abs(weights), kind="stable")
    return ", ".join(
        f"{escape(names[at])} {pretty(f'{weights[at]:+.2f}')}"
        for at in order
        if abs(weights[at]) > SMALLEST_WEIGHT
    )


def profiles_table(findings: Findings) -> str:
    """Intervals from the profiles beside those of the linear theory."""
    linear = {estimate.name: estimate for estimate in findings.estimates}
    rows = []
    for profile in findings.profiles:
        estimate = linear.get(profile.name)
        error = math.nan if estimate is None else estimate.error
        ends = (
            "open on both sides" if math.isnan(profile.low) and math.isnan(profile.high)
            else "open below" if math.isnan(profile.low)
            else "open above" if math.isnan(profile.high)
            else ""
        )  # fmt: skip
        beside = MISSING if estimate is None else cells(estimate)[3]
        rows.append(
            (
                escape(profile.name),
                pretty(_ends(profile.low, profile.high, error)),
                pretty(beside),
                _unit(profile.unit),
                f'<span class="flag bad">{ends}</span>' if ends else "",
            )
        )
    heads = ("parameter", "profile likelihood", "linear theory", "unit", "")
    return table("Intervals from profiles", heads, rows, numeric=(1, 2))


def _ends(low: float, high: float, error: float) -> str:
    low = -math.inf if math.isnan(low) and not math.isnan(high) else low
    high = math.inf if math.isnan(high) and not math.isnan(low) else high
    return interval(low, high, error)
