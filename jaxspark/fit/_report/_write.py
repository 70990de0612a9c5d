"""The report in a folder."""

from pathlib import Path

from .._findings import Findings
from ._errors import ReportError
from ._figures import figures
from ._html import page
from ._json import to_json
from ._look import look


def write_report(findings: Findings, folder: str | Path) -> Path:
    """Write the report of a fit.

    **Arguments:**

    - `findings`: the [`jaxspark.fit.Findings`][] to report.
    - `folder`: where; made if it does not exist. `report.html` and `report.json` go there, and
        each figure as a PNG file.

    **Returns:** the path of `report.html`.

    **Raises:** `ReportError` if something cannot be written.
    """
    folder = Path(folder)
    drawn = figures(findings)
    target = folder / "report.html"
    texts = {"report.html": page(findings, drawn), "report.json": to_json(findings)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            target = folder / name
            target.write_text(text, encoding="utf-8")
        with look():
            for name, figure in drawn.items():
                target = folder / f"{name}.png"
                figure.savefig(target, dpi=144)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ReportError(f"{target}: the report cannot be written: {reason}.") from None
    return folder / "report.html"
