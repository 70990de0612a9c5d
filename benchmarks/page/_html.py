"""A record as one page that needs nothing else."""

from html import escape

from jaxspark.fit._report._digits import seconds
from jaxspark.fit._report._html import POLICY
from jaxspark.fit._report._resources import resource
from jaxspark.fit._report._svg import to_svg
from jaxspark.fit._report._tables import pretty

from ._compared import sentence
from ._record import Part, Record
from ._sections import Section, SECTIONS
from ._tables import all_results, by, work_precision_table


STYLE = ".own { color: var(--accent); }\ntbody th { font-weight: 400; }\n"
COSTS = (
    "Costs are CPU seconds of this process, all its threads together, which are kept on one core: "
    "other processes disturb them least. Everything is compiled before it is timed; a time is the "
    "least of several measurements, unless a single one takes long. All calculations are in double "
    "precision. Solvers of equations get the same ones, written once, and those that are called "
    "from Python compiled residuals and exact Jacobians; simulators get bodies and joints. What is "
    "“reduced by hand” is an ODE in minimal coordinates that was derived on paper."
)


def to_html(record: Record) -> str:
    """The comparison as one HTML page without external resources.

    **Arguments:**

    - `record`: what was measured.

    **Returns:** the page: machine, versions, and a picture and tables for each section. It
    follows the reader's choice of a light or dark page.
    """
    body = "".join(_section(part, SECTIONS[part.name]) for part in record.parts)
    links = "".join(
        f'<a href="#{part.name}">{escape(SECTIONS[part.name].title)}</a>' for part in record.parts
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>jaxspark and its peers</title>\n"
        f"<style>\n{resource('style.css')}{STYLE}</style>\n</head>\n<body>\n{_header(record)}"
        f'<nav aria-label="Contents">{links}<a href="#where">Machine and versions</a></nav>\n'
        f"<main>\n{body}{_where(record)}</main>\n</body>\n</html>\n"
    )


def _header(record: Record) -> str:
    text = (
        f'<header>\n<h1>jaxspark and its peers</h1>\n<p class="verdict">Measured '
        f"{escape(record.started.replace('T', ' '))}, commit {escape(record.commit)}.</p>\n"
        f'<p>{COSTS} Solvers of jaxspark are <span class="own">in colour</span>.</p>\n'
    )
    if record.missing:
        names = ", ".join(map(escape, record.missing))
        text += (
            '<aside class="warnings"><b>Not installed, and so not compared</b>'
            f"<ul><li>{names}</li></ul></aside>\n"
        )
    return text + "</header>\n"


def _section(part: Part, section: Section) -> str:
    text = (
        f'<section id="{part.name}" aria-labelledby="title-{part.name}">\n'
        f'<h2 id="title-{part.name}">{escape(section.title)}</h2>\n<p>{escape(section.words)}</p>\n'
    )
    if part.state != "complete":
        text += (
            '<aside class="warnings"><b>Not all was measured</b>'
            f"<ul><li>{escape(part.state)}</li></ul></aside>\n"
        )
    if part.results:
        text += _picture(part, section) + _results(part)
    return f"{text}<p><small>Measured in {pretty(seconds(part.seconds))}.</small></p>\n</section>\n"


def _picture(part: Part, section: Section) -> str:
    drawn = section.plot(part.results)
    alternative = f"{section.title}: CPU times of {', '.join(by(part.results, 'solver'))}"
    return f"<figure>{to_svg(drawn, part.name, alternative)}</figure>\n"


def _results(part: Part) -> str:
    """Problem by problem; of mechanisms a table of costs, and their many runs folded."""
    text = ""
    for problem, of in by(part.results, "problem").items():
        text += f"<h3>{escape(problem)}</h3>\n"
        table = all_results(f"{problem}: all results", of)
        if part.name != "work-precision":
            text += table
            continue
        text += f"<p>{sentence(of)}</p>\n{work_precision_table(problem, of)}"
        text += f"<details><summary>All {len(of)} runs</summary>\n{table}</details>\n"
    return text


def _where(record: Record) -> str:
    rows = [*record.machine.items(), *record.versions.items()]
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows)
    return (
        '<section id="where" aria-labelledby="title-where">\n'
        f'<h2 id="title-where">Machine and versions</h2>\n<dl>{items}</dl>\n</section>\n'
    )
