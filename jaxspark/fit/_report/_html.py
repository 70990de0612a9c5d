"""The report as one page that needs nothing else."""

from html import escape

from matplotlib.figure import Figure

from .._findings import Findings, Trial
from ._animation import animation
from ._digits import number, seconds, whole
from ._estimates import any_correlated, flags, free
from ._figures import figures
from ._labels import labelled
from ._next import next_steps
from ._resources import resource
from ._scores import comparisons, pooled_ratio, scores
from ._svg import to_svg
from ._tables import (
    combinations_table,
    estimates_table,
    pretty,
    profiles_table,
    scores_table,
    whiteness_table,
    with_powers,
)
from ._verdict import checks, ending, verdict


# Figures of further trials are folded.
MOST_OPEN = 6
# The page itself forbids the browser to fetch anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def to_html(findings: Findings) -> str:
    """The report as one HTML page without external resources.

    It has the verdict and what to do next, parameters with intervals, what the data do not tell,
    the mechanism in motion, fits with residuals, held-out trials, whiteness, correlations,
    profiles, the course of the loss, and numerics. It follows the reader's choice of a light or
    dark page, and can be printed and read aloud.

    **Arguments:**

    - `findings`: the [`jaxspark.fit.Findings`][] to report.

    **Returns:** the page. The same findings make the same page.
    """
    return page(findings, figures(findings))


def page(findings: Findings, drawn: dict[str, Figure]) -> str:
    """The page, with figures that `figures` has drawn of the same findings."""
    findings = labelled(findings)
    sections = {
        "parameters": ("Parameters", _parameters(findings)),
        "mechanism": ("Mechanism in motion", animation(findings)),
        "fits": ("Fits and residuals", _fits(findings, drawn)),
        "quality": ("Quality of the fit", _quality(findings)),
        "whiteness": ("Whiteness of the residuals", _whiteness(findings, drawn)),
        "correlation": ("Correlation of the estimates", _correlation(findings, drawn)),
        "profiles": ("Profile likelihoods", _profiles(findings, drawn)),
        "convergence": ("Convergence", _convergence(findings, drawn)),
        "numerics": ("Numerics", _numerics(findings)),
    }
    present = {name: part for name, part in sections.items() if part[1]}
    links = "".join(
        f'<a href="#section-{name}">{title}</a>' for name, (title, _) in present.items()
    )
    body = "".join(
        f'<section id="section-{name}" aria-labelledby="title-{name}">\n'
        f'<h2 id="title-{name}">{title}</h2>\n{text}</section>\n'
        for name, (title, text) in present.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(findings.title)}</title>\n<style>\n{resource('style.css')}</style>\n"
        f"</head>\n<body>\n{_header(findings)}"
        f'<nav aria-label="Contents">{links}</nav>\n<main>\n{body}</main>\n{_footer(findings)}'
        f"<script>\n{resource('print.js')}</script>\n</body>\n</html>\n"
    )


def _header(findings: Findings) -> str:
    items = "".join(
        f'<li class="{check.state}"><b>{check.title}</b>{_sentence(check.words)}</li>'
        for check in checks(findings)
    )
    warned = "".join(f"<li>{escape(text)}</li>" for text in findings.warnings)
    warnings = f'<aside class="warnings"><b>Warnings</b><ul>{warned}</ul></aside>\n'
    steps = "".join(f"<li>{escape(text)}</li>" for text in next_steps(findings))
    following = f'<aside class="next"><b>What to do next</b><ul>{steps}</ul></aside>\n'
    return (
        f'<header>\n<h1>{escape(findings.title)}</h1>\n<p class="verdict">'
        f'{escape(verdict(findings))}</p>\n<ul class="checks">{items}</ul>\n'
        f"{warnings if warned else ''}{following if steps else ''}</header>\n"
    )


def _sentence(words: str) -> str:
    return escape(f"{words[0].upper()}{words[1:]}.")


def _parameters(findings: Findings) -> str:
    parts = [
        estimates_table("Parameters", findings.estimates, findings.level)
        if findings.estimates
        else "<p>There are none.</p>\n"
    ]
    if findings.unidentifiable:
        items = "".join(f"<li>{with_powers(words)}</li>" for words in findings.unidentifiable)
        parts.append(
            "<h3>What the data do not tell</h3>\n<p>Along these combinations the parameters can "
            "change and the predictions do not. Hold one parameter of each, or record a trial "
            f"that moves differently.</p>\n<ul>{items}</ul>\n"
        )
    elif free(findings):
        parts.append("<p>The data tell all free parameters apart.</p>\n")
    if findings.initial_states:
        unknown = sum(bool(flags(state)) and not state.fixed for state in findings.initial_states)
        count = len(findings.initial_states)
        rest = f", {unknown} of them not identifiable" if unknown else ""
        parts.append(
            f"<details><summary>Initial states: {count}{rest}</summary>\n"
            + estimates_table("Initial states", findings.initial_states, findings.level)
            + "</details>\n"
        )
    return "".join(parts)


def _figure(drawn: dict[str, Figure], name: str, alternative: str, caption: str) -> str:
    if name not in drawn:
        return ""
    return (
        f"<figure>{to_svg(drawn[name], name, alternative)}\n"
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def _fits(findings: Findings, drawn: dict[str, Figure]) -> str:
    parts = []
    for at, trial in enumerate(findings.trials, 1):
        name = f"fit_{at}"
        if name not in drawn:
            continue
        is_open = " open" if at <= MOST_OPEN or trial.held_out else ""
        mark = ' <span class="flag held-out">held out</span>' if trial.held_out else ""
        figure = _figure(drawn, name, _alternative(trial), _caption(trial))
        parts.append(
            f"<details{is_open}><summary>{escape(trial.name)}{mark}</summary>\n{figure}</details>\n"
        )
    return "".join(parts)


def _alternative(trial: Trial) -> str:
    channels = ", ".join(
        f"{channel.name} with R² {number(channel.r_squared, 4)}" for channel in trial.channels
    )
    return f"Trial {trial.name}, measured and predicted over time: {channels}"


def _caption(trial: Trial) -> str:
    span = seconds(float(trial.times[-1] - trial.times[0]))
    role = "It was not fitted, only predicted." if trial.held_out else ""
    return (
        f"{whole(trial.times.size)} samples in {span}. Residuals are measured less predicted; the "
        f"band is two standard deviations of the noise. {role}".strip()
    )


def _quality(findings: Findings) -> str:
    of = scores(findings)
    if not of:
        return ""
    lines = []
    for held_out, words in ((False, "Fitted trials"), (True, "Held-out trials")):
        ratio = pooled_ratio(tuple(score for score in of if score.trial.held_out == held_out))
        if ratio == ratio:
            lines.append(
                f"{words}: residuals are {pretty(number(ratio, 3))} times the noise (rms of all "
                "samples)."
            )
    text = " ".join(lines)
    compared = " ".join(comparisons(findings, pretty))
    return (
        (f"<p>{text} A model that explains all has 1.</p>\n" if text else "")
        + scores_table(findings)
        + (f"<p>{compared}</p>\n" if compared else "")
    )


def _whiteness(findings: Findings, drawn: dict[str, Figure]) -> str:
    if not scores(findings):
        return ""
    coloured = any_correlated(findings.estimates)
    beside = " Errors “if correlated” allow for that." if coloured else ""
    return (
        "<p>If the model explains all but noise, residuals of different samples are independent. "
        "If they are not, something is missing in the model, and errors of the parameters may be "
        f"larger than they seem.{beside}</p>\n"
        + whiteness_table(findings)
        + _figure(
            drawn,
            "autocorrelation",
            "Autocorrelation of the residuals of each channel, with bounds of white noise",
            "Autocorrelation of the residuals. Of white noise 95 % lie in the band.",
        )
    )


def _correlation(findings: Findings, drawn: dict[str, Figure]) -> str:
    figure = _figure(
        drawn,
        "correlation",
        "Matrix of the correlations of the estimates",
        "Correlation of the estimates of the free parameters.",
    )
    if not findings.combinations:
        return figure
    return (
        figure + "<h3>Combinations known worst</h3>\n"
        "<p>Eigenvectors of the covariance in relative units, the worst known first.</p>\n"
        + combinations_table(findings)
    )


def _profiles(findings: Findings, drawn: dict[str, Figure]) -> str:
    if not findings.profiles:
        return ""
    return profiles_table(findings) + _figure(
        drawn,
        "profiles",
        "Profile likelihoods of the parameters",
        "Deviance when the parameter is held and all others are fitted again. Dashed: the "
        "threshold of the interval. A flat profile means that the data do not tell the parameter.",
    )


def _convergence(findings: Findings, drawn: dict[str, Figure]) -> str:
    caption = (
        "Minus the logarithm of the likelihood, up to a constant, at each evaluation of the model, "
        "that of the start first."
    )
    figure = _figure(drawn, "loss", "Loss at each iteration", caption)
    return f"<p>{escape(ending(findings))}</p>\n{figure}"


def _numerics(findings: Findings) -> str:
    rows = [
        ("Worst constraint residual", pretty(number(findings.worst_residual, 2))),
        ("Wall time", pretty(seconds(findings.seconds))),
        *((escape(name), escape(text)) for name, text in findings.versions.items()),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>\n"


def _footer(findings: Findings) -> str:
    level = pretty(number(100 * findings.level))
    return (
        f"<footer>Errors are standard errors, intervals contain the true value with {level} % "
        "probability if the model is right and residuals are white.</footer>\n"
    )
