"""Measure sections, one after the other, and keep what was measured."""

import pathlib
import time
import traceback
from collections.abc import Sequence

import jax

from .._result import Result
from ._html import to_html
from ._json import to_json
from ._record import begun, Part, Record
from ._sections import chosen, Section


PAGE, RESULTS = "page.html", "results.json"


def page(names: Sequence[str], folder: pathlib.Path, tiny: bool = False) -> bool:
    """Measure sections afresh and write a page and a JSON file.

    Both are written anew after every section, so that an interruption leaves what was measured
    before. A section that fails is reported, and the others are measured.

    **Arguments:**

    - `names`: of the sections; all if there are none.
    - `folder`: where `page.html` and `results.json` go; made if it does not exist.
    - `tiny`: whether as little as possible is measured.

    **Returns:** whether no section failed.

    **Raises:** `SystemExit` if there is no section of one of the names.
    """
    sections, record = chosen(names), begun()
    folder.mkdir(parents=True, exist_ok=True)
    for missing in record.missing:
        print(f"{missing} is not installed, and so not compared", flush=True)
    for name, section in sections.items():
        part = _measured(name, section, tiny)
        record = record.joined(part)
        write(record, folder)
        jax.clear_caches()
        if part.state == "interrupted":
            raise KeyboardInterrupt
    print(f"{folder / PAGE}, {folder / RESULTS}")
    return all(part.state == "complete" for part in record.parts)


def write(record: Record, folder: pathlib.Path) -> None:
    """Results first: they cannot be had again without measuring."""
    (folder / RESULTS).write_text(to_json(record), encoding="utf-8")
    (folder / PAGE).write_text(to_html(record), encoding="utf-8")


def _measured(name: str, section: Section, tiny: bool) -> Part:
    results: list[Result] = []
    state, start = "complete", time.perf_counter()
    try:
        for result in section.collect(tiny):
            results.append(result)
            print(_line(result), flush=True)
    except KeyboardInterrupt:
        state = "interrupted"
    except (Exception, SystemExit) as error:  # whatever: hours of other results are worth more
        traceback.print_exc()
        state = f"{type(error).__name__}: {error}"
    return Part(name, state, time.perf_counter() - start, tuple(results))


def _line(result: Result) -> str:
    what = f"{result.section} | {result.problem} | {result.solver} | {result.setting}"
    return f"{what} | {1e3 * result.seconds:.4g} ms | error {result.error:.1e}"
