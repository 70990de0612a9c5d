"""Channels and inputs that were sampled at times of their own, on one clock."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ._check import as_numbers, check_finite, check_length, check_times, DataError, Source


# Of the shortest interval: what differs by less is rounding.
ROUNDING = 1e-6


def joined(
    source: Source,
    series: Mapping[str, tuple[Any, Any]],
    inputs: Mapping[str, tuple[Any, Any]],
    tolerance: float | int | None,
) -> tuple[
    Float[np.ndarray, " n"],
    dict[str, Float[np.ndarray, " n"]],
    dict[str, Float[np.ndarray, " n"]],
]:
    """The times of all, the channels there, NaN at the times of others, and the inputs there.

    Arguments as of [`jaxspark.fit.Record.from_series`][]; `series` has at least one.
    """
    sampled = _pairs(source, "channel", series)
    driving = _pairs(source, "input", inputs)
    if tolerance is None:
        tolerance = ROUNDING * _shortest(sampled)
    own = _union([times for times, _ in sampled.values()], tolerance)
    for key, (times, _) in driving.items():
        if times[0] > own[0] + tolerance or times[-1] < own[-1] - tolerance:
            raise DataError(
                f'{source.name}: input "{key}" was measured from {float(times[0])} s to '
                f"{float(times[-1])} s, but channels from {float(own[0])} s to "
                f"{float(own[-1])} s. Cut the channels to the times of the input."
            )
    union = _with_inputs(own, [times for times, _ in driving.values()])
    places = np.searchsorted(union, own)
    channels = {}
    for key, (times, values) in sampled.items():
        channels[key] = np.full(union.size, np.nan)
        # The nearest time below, up to the tolerance, is that of the own group.
        channels[key][places[_own(source, key, own, times, tolerance)]] = values
    driven = {key: np.interp(union, times, values) for key, (times, values) in driving.items()}
    return union, channels, driven


def _pairs(
    source: Source, kind: str, series: Mapping[str, tuple[Any, Any]]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times and samples of each, checked."""
    pairs = {}
    for key, (times, values) in series.items():
        label = f'{kind} "{key}"'
        times = as_numbers(source, f"time of {label}", times)
        values = as_numbers(source, label, values)
        check_length(source, label, values, times.size)
        check_times(source, f"time of {label}", times)
        check_finite(source, label, values, "allow" if kind == "channel" else "error")
        pairs[key] = times, values
    return pairs


def _shortest(pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> float:
    return min(float(np.diff(times).min()) for times, _ in pairs.values())


def _union(
    series: Iterable[Float[np.ndarray, " _"]], tolerance: float | int
) -> Float[np.ndarray, " n"]:
    """All times in order; of those that are within the tolerance, the first."""
    times = np.sort(np.concatenate(list(series)))
    first: Bool[np.ndarray, " m"] = np.append(True, np.diff(times) > tolerance)
    return times[first]


def _with_inputs(
    own: Float[np.ndarray, " n"], inputs: list[Float[np.ndarray, " _"]]
) -> Float[np.ndarray, " m"]:
    """The times of the channels, and those of inputs between them, but for rounding."""
    if not inputs:
        return own
    near = ROUNDING * min(float(np.diff(times).min()) for times in (own, *inputs))
    others = _union(inputs, near)
    after = np.clip(np.searchsorted(own, others), 1, own.size - 1)
    away = np.minimum(np.abs(others - own[after - 1]), np.abs(others - own[after]))
    between = (own[0] < others) & (others < own[-1]) & (away > near)
    return np.sort(np.concatenate([own, others[between]]))


def _own(
    source: Source,
    key: str,
    union: Float[np.ndarray, " n"],
    times: Float[np.ndarray, " m"],
    tolerance: float | int,
) -> Int[np.ndarray, " m"]:
    """Where in the union each time of one channel went."""
    places = np.searchsorted(union, times, side="right") - 1
    same = np.flatnonzero(np.diff(places) == 0)
    if same.size:
        at = int(same[0])
        raise DataError(
            f'{source.name}: the tolerance {tolerance:g} s merges two samples of channel "{key}", '
            f"at {float(times[at])} s and {float(times[at + 1])} s. Choose a smaller one."
        )
    return places
