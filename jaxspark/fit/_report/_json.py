"""Findings as strict JSON, and back without loss."""

import dataclasses
import json
import math
import types
from typing import Any, get_args, get_origin, get_type_hints, Literal

import numpy as np

from .._findings import Findings
from ._errors import ReportError


SCHEMA = 1
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(findings: Findings) -> str:
    """Findings as text that any JSON parser reads.

    The text is an object with the fields of [`jaxspark.fit.Findings`][] and `"schema": 1`. Arrays
    are lists, of rows if they have several dimensions. JSON has no word for numbers that are not
    finite: they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Numbers have as many
    digits as a double needs.

    **Arguments:**

    - `findings`: the [`jaxspark.fit.Findings`][] to write.

    **Returns:** the text, in one line.
    """
    return json.dumps({"schema": SCHEMA, **_plain(findings)}, allow_nan=False, ensure_ascii=False)


def from_json(text: str) -> Findings:
    """Findings from what [`jaxspark.fit.to_json`][] wrote; every double is the same.

    **Arguments:**

    - `text`: the JSON text. Fields that are unknown are ignored.

    **Returns:** the [`jaxspark.fit.Findings`][]. Arrays are of double precision.

    **Raises:** `ReportError` if the text is not JSON, has another schema, or lacks a field.
    """
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReportError(f"This is not JSON: line {error.lineno}, {error.msg}.") from None
    if not isinstance(tree, dict) or "schema" not in tree:
        raise ReportError('This is not a report of a fit: the field "schema" is missing.')
    if tree["schema"] != SCHEMA:
        raise ReportError(
            f"The report has schema {tree['schema']!r}; this version reads schema {SCHEMA}. "
            "Read it with the version of jaxspark that wrote it."
        )
    return _restored(Findings, tree, "findings")


def _plain(value: Any) -> Any:
    """Only what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _restored(hint: Any, value: Any, path: str) -> Any:
    """The value of the annotated type."""
    try:
        return _of_type(hint, value, path)
    except ReportError:
        raise
    except (TypeError, ValueError, AttributeError):
        raise ReportError(f"The field {path} has a value of the wrong kind.") from None


def _of_type(hint: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint, value, path)
    if isinstance(hint, types.UnionType):
        of, _ = get_args(hint)
        return None if value is None else _restored(of, value, path)
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint), value, path)
    if get_origin(hint) is dict:
        return {str(key): str(item) for key, item in value.items()}
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError
        return value
    if hint is float:
        return WORDS[value] if isinstance(value, str) and value in WORDS else float(value)
    if hint in (str, bool, int):
        if not isinstance(value, hint):
            raise TypeError
        return value
    return _array(value, len(hint.dim_str.split()))


def _dataclass(hint: Any, value: dict[str, Any], path: str) -> Any:
    hints = get_type_hints(hint)
    arguments = {}
    for part in dataclasses.fields(hint):
        if part.name in value:
            arguments[part.name] = _restored(
                hints[part.name], value[part.name], f"{path}.{part.name}"
            )
        elif part.default is dataclasses.MISSING and part.default_factory is dataclasses.MISSING:
            raise ReportError(f"The field {path}.{part.name} is missing.")
    return hint(**arguments)


def _tuple(kinds: tuple[Any, ...], value: list[Any], path: str) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise ValueError
    pairs = zip(kinds, value)
    return tuple(_restored(kind, item, f"{path}[{at}]") for at, (kind, item) in enumerate(pairs))


def _array(value: list[Any], ndim: int) -> np.ndarray:
    # NumPy reads the words that stand for numbers as it reads numbers.
    array = np.array(value, dtype=np.float64)
    # Of an array without entries the list does not tell the inner dimensions.
    return array.reshape(array.shape + (0,) * (ndim - array.ndim))
