"""Tables as text."""

from collections.abc import Sequence


def one_line(text: str) -> str:
    """Text without line breaks."""
    return " ".join(text.split())


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]], left: str) -> list[str]:
    """The lines of a table.

    **Arguments:**

    - `left`: a letter for each column, `l` for those set flush left.
    """
    table = [tuple(heads), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if kind == "l" else cell.rjust(width)
            for cell, width, kind in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in table
    ]
