"""The configuration: which columns are which channels, and how to fit."""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ._errors import CommandError, no_such


@dataclass(frozen=True)
class Config:
    """What a configuration file says.

    - `name`: of the file, for messages.
    - `time`: the column of times.
    - `channels`, `inputs`: the column of each.
    - `units`, `noise`: of each channel; units of inputs too.
    - `trial`: a column that tells trials apart; `delimiter`, `missing`: as
        [`jaxspark.fit.read_csv`][] takes them.
    - `window`, `max_iterations`, `level`: of the fit and its intervals.
    - `held_out`: files to be predicted only; `profiles`: parameters, or `("all",)`.
    """

    name: str = "the options"
    time: str = "time_s"
    channels: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    trial: str | None = None
    delimiter: str = ","
    missing: Literal["error", "allow"] = "error"
    window: float | None = None
    max_iterations: int = 100
    level: float = 0.95
    held_out: tuple[Path, ...] = ()
    profiles: tuple[str, ...] = ()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text in quotation marks")
    return value


def _delimiter(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n':
        raise ValueError('one character, for instance ";"')
    return value


def _missing(value: Any) -> str:
    if value not in ("error", "allow"):
        raise ValueError('"error" or "allow"')
    return value


def _positive(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError("a positive number")
    return float(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("a whole number, at least 1")
    return value


def _level(value: Any) -> float:
    if not isinstance(value, float) or not 0 < value < 1:
        raise ValueError("a number between 0 and 1, for instance 0.95")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError('a list of texts, for instance ["length"]')
    return tuple(value)


# Keys that stand alone, those of tables, and tables whose keys are channels.
ALONE = {"trial": _text, "delimiter": _delimiter, "missing": _missing}
TABLES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "time": {"column": _text},
    "fit": {
        "window": _positive, "max_iterations": _count, "level": _level,
        "held_out": _texts, "profiles": _texts,
    },
}  # fmt: skip
BY_CHANNEL = {"channels": _text, "inputs": _text, "units": _text, "noise": _positive}


def load_config(path: Path | None) -> Config:
    """Read a configuration, in TOML.

    **Arguments:**

    - `path`: of the file; `None` for the defaults. Files named in it are relative to its folder.

    **Raises:** `CommandError` for a file that is missing or no TOML, for unknown keys, with the
    nearest known one, and for values of a wrong kind.
    """
    if path is None:
        return Config()
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise CommandError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: this is not TOML: {error}.") from None
    found: dict[str, Any] = {"name": str(path)}
    for key, value in tree.items():
        if key in ALONE:
            found[key] = _checked(path, key, value, ALONE[key])
        elif key in TABLES:
            found |= _table(path, key, value)
        elif key in BY_CHANNEL:
            of, kind = _is_table(path, key, value), BY_CHANNEL[key]
            found[key] = {n: _checked(path, f"{key}.{n}", v, kind) for n, v in of.items()}
        else:
            known = [*ALONE, *TABLES, *BY_CHANNEL]
            raise CommandError(f"{path}: {no_such('key', key, known)}")
    found["held_out"] = tuple(path.parent / file for file in found.get("held_out", ()))
    return Config(**found)


def _table(path: Path, name: str, value: Any) -> dict[str, Any]:
    """The entries of a table, by the names of the fields."""
    known, found = TABLES[name], {}
    for key, entry in _is_table(path, name, value).items():
        if key not in known:
            raise CommandError(f"{path}: {no_such(f'key in [{name}]', key, list(known))}")
        field_name = "time" if name == "time" else key
        found[field_name] = _checked(path, f"{name}.{key}", entry, known[key])
    return found


def _is_table(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CommandError(f"{path}: {name} must be a table, [{name}]; it is {value!r}.")
    return value


def _checked(path: Path, key: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise CommandError(f"{path}: {key} must be {error}; it is {value!r}.") from None
