"""Records as strict JSON, and back without loss."""

import dataclasses
import json
import math
from typing import Any

from jaxspark.fit._report._json import WORDS

from .._result import Result
from ._record import Part, Record


SCHEMA = 1


def to_json(record: Record) -> str:
    """A record as text that any JSON parser reads.

    An object with the fields of [`Record`][] and `"schema": 1`. JSON has no word for numbers that
    are not finite: they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.

    **Arguments:**

    - `record`: what to write.

    **Returns:** the text. Numbers have as many digits as a double needs.
    """
    tree = {"schema": SCHEMA, **_plain(dataclasses.asdict(record))}
    return json.dumps(tree, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> Record:
    """A record from what [`to_json`][] wrote; every double is the same.

    **Arguments:**

    - `text`: the JSON text.

    **Returns:** the record.

    **Raises:** `ValueError` if the text is not JSON or has another schema.
    """
    tree = json.loads(text)
    schema = tree.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(
            f"The results have schema {schema!r}; this version reads schema {SCHEMA}. "
            "Measure them again: python -m benchmarks."
        )
    parts = tuple(
        Part(part["name"], part["state"], part["seconds"], tuple(map(_result, part["results"])))
        for part in tree.pop("parts")
    )
    return Record(**{**tree, "missing": tuple(tree["missing"])}, parts=parts)


def _result(tree: dict[str, Any]) -> Result:
    numbers = {name: _number(tree[name]) for name in ("seconds", "error", "residual")}
    extra = {name: _number(value) for name, value in tree["extra"].items()}
    return Result(**{**tree, **numbers, "extra": extra})


def _number(value: float | str) -> float:
    return WORDS[value] if isinstance(value, str) else float(value)


def _plain(value: Any) -> Any:
    """Only what JSON has."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a number of NumPy or JAX
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
