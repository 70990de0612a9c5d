"""What can be wrong with measured data, in words that name the place and the cure."""

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Num


Missing: TypeAlias = Literal["error", "allow"]
MANY = 100  # samples, from which on an interval of a second tells the unit of time
SLOW = 5.0  # s; an interval that no mechanism is sampled with
EPOCH = 1e8  # s; three years
TURNS = 4 * np.pi  # rad; two turns
FULL_TURN = 360.0


class DataError(ValueError):
    """Measured data that cannot be used; the message says where, why, and what to do."""


class DataWarning(UserWarning):
    """Measured data that can be used, but look as if a unit or a channel were wrong."""


@dataclass(frozen=True)
class Source:
    """Where data come from, for messages.

    - `name`: of the file or the record.
    - `at`: the place of the sample of this index, in words.
    """

    name: str
    at: Callable[[int], str]


def in_memory(name: str) -> Source:
    """Data that were not read from a file: their place is an index."""
    return Source(f'record "{name}"', lambda index: f'record "{name}", index {index}')


def unknown(place: str, what: str, name: str, known: Collection[str]) -> DataError:
    """There is no such channel or column; which there are, and which is nearest."""
    by_lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    hint = f' Did you mean "{by_lower[near[0]]}"?' if near else ""
    there = ", ".join(f'"{other}"' for other in known) or "none"
    return DataError(f'{place}: there is no {what} "{name}".{hint} There are: {there}.')


def as_numbers(source: Source, label: str, values: Any) -> Float[np.ndarray, " n"]:
    """A copy in double precision; masked and null samples become NaN."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise DataError(
            f"{source.name}: {label} holds dates, not seconds. Subtract the first and convert, "
            "in pandas by `(t - t.iloc[0]).dt.total_seconds()`."
        )
    if kind == "c":
        raise DataError(f"{source.name}: {label} holds complex numbers. Take the real part.")
    try:
        array = _converted(values)
    except (TypeError, ValueError):
        raise _not_number(source, label, values) from None
    if array.ndim != 1:
        raise DataError(
            f"{source.name}: {label} has the shape {array.shape}; it must have one axis. Give "
            "every column its own name."
        )
    return array


def _converted(values: Any) -> Num[np.ndarray, "..."]:
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    to_numpy = getattr(values, "to_numpy", None)
    if to_numpy is not None:
        try:  # pandas, whose null is no number for NumPy
            return to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        except TypeError:
            pass
    return np.array(values, dtype=np.float64)


def _not_number(source: Source, label: str, values: Any) -> DataError:
    for index, value in enumerate(values if isinstance(values, Collection) else ()):
        try:
            float(value)
        except (TypeError, ValueError):
            return DataError(
                f"{source.at(index)}: {label} is {value!r}, which is no number. Correct it, or "
                'set missing to "allow" and give NaN.'
            )
    return DataError(f"{source.name}: {label} holds no numbers.")


def check_times(source: Source, label: str, times: Float[np.ndarray, " n"]) -> None:
    """At least two, finite, strictly increasing."""
    if times.size < 2:
        raise DataError(
            f"{source.name}: {_samples(times.size)}; at least 2 are needed. Is it the right part "
            "of the measurement?"
        )
    check_finite(source, label, times, "error")
    wrong = np.flatnonzero(times[1:] <= times[:-1])
    if not wrong.size:
        return
    at = int(wrong[0]) + 1
    before, after = float(times[at - 1]), float(times[at])
    if before == after:
        raise DataError(
            f"{source.at(at)}: {label} is {after!r} twice. Keep one of the two samples, or write "
            "times with more digits."
        )
    raise DataError(
        f"{source.at(at)}: {label} goes from {before!r} back to {after!r}; it must increase. Sort "
        "the samples by time; if several trials follow one another, make a record of each (of a "
        "table: say by `trial` which column tells them apart)."
    )


def check_finite(
    source: Source, label: str, values: Float[np.ndarray, " n"], missing: Missing
) -> None:
    """No infinite value, and NaN only where samples may be missing, but not all of them."""
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    allowed = np.isnan(values)
    if missing == "allow" and allowed.all():
        raise DataError(
            f"{source.name}: {label} has no sample, all are missing. Leave it out of "
            "this record: others may have it."
        )
    if missing == "allow":
        wrong &= ~allowed
    index = np.flatnonzero(wrong)
    if index.size:
        first = int(index[0])
        raise not_finite(source.at(first), label, float(values[first]), missing)


def not_finite(place: str, label: str, value: float, missing: Missing) -> DataError:
    """NaN or infinity where a number must be."""
    if np.isnan(value) and label.startswith("channel"):
        cure = 'Remove the sample, or set missing to "allow" to fit without it.'
    elif np.isnan(value):
        cure = "Every sample needs it: remove the sample, or interpolate."
    else:
        cure = "Remove the sample"
        cure += ', or set missing to "allow" and give NaN.' if label.startswith("channel") else "."
    return DataError(f"{place}: {label} is {value}, not a finite number. {cure}")


def check_length(source: Source, label: str, values: Num[np.ndarray, " m"], num: int) -> None:
    """As many samples as times."""
    if values.size != num:
        raise DataError(
            f"{source.name}: {label} has {_samples(values.size)}, but there are {num} times. Give "
            "every channel one value per time; channels sampled at times of their own are merged "
            "by `Record.from_series`."
        )


def check_missing(missing: str) -> None:
    """One of the two words."""
    if missing not in ("error", "allow"):
        raise ValueError(f'missing must be "error" or "allow"; got {missing!r}.')


def doubts(
    name: str,
    times: Float[np.ndarray, " n"],
    channels: Mapping[str, Float[np.ndarray, " n"]],
    inputs: Mapping[str, Float[np.ndarray, " n"]],
    units: Mapping[str, str],
) -> list[str]:
    """What looks wrong in data that could be right.

    - Times in milliseconds, microseconds, nanoseconds: a median interval of 1 and more (of 5 and
        more, if there are 100 samples or fewer), 500 and more, 5e5 and more.
    - Times since 1970: the first is above 1e8 (three years).
    - Degrees: the unit is `rad`, and the largest magnitude is above 4 pi (two turns), but not
        above 360. Wheels that turn on and on go beyond, and angles of joints stay below.
    - A channel or an input that never changes.
    """
    found = [_doubt_times(name, times)]
    for kind, group in (("channel", channels), ("input", inputs)):
        for key, values in group.items():
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            largest = max(-low, high)
            if units.get(key, "") in ("rad", "radian", "radians") and (
                TURNS < largest <= FULL_TURN
            ):
                found.append(
                    f'record "{name}": {kind} "{key}" looks like degrees: its unit is rad, but '
                    f"it reaches {largest:.4g}. Convert it, or correct its unit; ignore this if "
                    "it turns so far."
                )
            if low == high:
                cure = "leave it out" if kind == "channel" else "make it a constant of the model"
                found.append(
                    f'record "{name}": {kind} "{key}" never changes, it is {low:.6g} in all '
                    f"samples and tells nothing. Check the sensor, or {cure}."
                )
    return [words for words in found if words]


def _doubt_times(name: str, times: Float[np.ndarray, " n"]) -> str:
    step, first = float(np.median(np.diff(times))), float(times[0])
    since_1970 = first > EPOCH
    if step >= (1 if times.size > MANY else SLOW):
        scales = [(500.0, "milliseconds", "1e-3"), (5e5, "microseconds", "1e-6")]
        scales.append((np.inf, "nanoseconds", "1e-9"))
        unit, factor = next(scale[1:] for scale in scales if step < scale[0])
        shift = f" (they begin at {first:.12g}: subtract the first too)" if since_1970 else ""
        return (
            f'record "{name}": times look like {unit}: median step {step:.6g}. They must be '
            f"seconds: multiply them by {factor}{shift}, or ignore this if they are."
        )
    if since_1970:
        return (
            f'record "{name}": times look like seconds since 1970: they begin at {first:.12g}. '
            "Subtract the first from all of them, else single precision cannot tell them apart."
        )
    return ""


def _samples(number: int) -> str:
    return f"{number} sample" if number == 1 else f"{number} samples"
