"""Words and numbers as tables for notebooks."""

import html
import inspect
import pathlib
from collections.abc import Iterable
from typing import Any


# Characters of what is no function.
MOST = 100


def table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """An HTML table of text, as notebooks show what has a `_repr_html_`.

    **Arguments:**

    - `title`: above it.
    - `heads`: of the columns; none for no line of heads.
    - `rows`: a text for each column.
    """

    def line(kind: str, cells: tuple[str, ...]) -> str:
        return "".join(
            f'<{kind} style="text-align: left">{html.escape(cell)}</{kind}>' for cell in cells
        )

    head = f"<thead><tr>{line('th', heads)}</tr></thead>" if heads else ""
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    caption = f'<caption style="text-align: left">{html.escape(title)}</caption>'
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def of_lines(text: str) -> str:
    """A table of lines such as "Steps: 12 accepted.", under the first one."""
    title, *lines = text.splitlines()
    return table(title, (), [_halves(line) for line in lines])


def _halves(line: str) -> tuple[str, str]:
    name, colon, rest = line.partition(": ")
    return (name, rest) if colon else ("", line)


def in_words(value: Any) -> str:
    """A function by its name and where it is written; all else as it says itself, in short."""
    function = inspect.unwrap(value) if callable(value) else value
    code = getattr(function, "__code__", None)
    if code is None:
        words = " ".join(repr(value).split())
        return words if len(words) <= MOST else words[: MOST - 3] + "..."
    return f"{function.__qualname__}, {pathlib.Path(code.co_filename).name}:{code.co_firstlineno}"
