"""A measured record: channels and inputs over time, checked."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ._check import (
    as_numbers,
    check_finite,
    check_length,
    check_missing,
    check_times,
    DataError,
    DataWarning,
    doubts,
    in_memory,
    Missing,
    Source,
    unknown,
)
from ._series import joined


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """One measurement of a mechanism, in plain NumPy arrays of double precision.

    Made by [`jaxspark.fit.record`][], [`jaxspark.fit.read_csv`][],
    [`jaxspark.fit.from_dataframe`][] or [`jaxspark.fit.Record.from_series`][], which check it;
    its arrays cannot be written to.

    - `name`: for messages and reports.
    - `times`: those of the samples (s), strictly increasing, shape `(n,)`.
    - `channels`: by name, what was measured and is to be predicted, each of shape `(n,)`; NaN where
        a sample is missing.
    - `inputs`: by name, what was measured and drives the model, as forces or prescribed motions;
        likewise.
    - `units`: those of every channel and input, by name; empty where none was given.
    """

    name: str
    times: Float[np.ndarray, " n"]
    channels: dict[str, Float[np.ndarray, " n"]]
    inputs: dict[str, Float[np.ndarray, " n"]]
    units: dict[str, str]

    def __repr__(self) -> str:
        span = f"{self.num_samples} samples from {self.times[0]:g} s to {self.times[-1]:g} s"
        parts = [f'"{self.name}"', span, f"channels: {self._listed(self.channels)}"]
        if self.inputs:
            parts.append(f"inputs: {self._listed(self.inputs)}")
        return f"Record({'; '.join(parts)})"

    def _listed(self, names: Mapping[str, Any]) -> str:
        """With their units."""
        units = ((name, self.units.get(name, "")) for name in names)
        return ", ".join(f"{name} ({unit})" if unit else name for name, unit in units)

    @property
    def num_samples(self) -> int:
        """The number of times."""
        return self.times.size

    @property
    def duration(self) -> float:
        """The time from the first sample to the last (s)."""
        return float(self.times[-1] - self.times[0])

    def window(self, t0: float | int, t1: float | int) -> "Record":
        """The part of a record from one time to another, both included.

        **Arguments:**

        - `t0`, `t1`: the bounds (s), on the clock of the record, which stays.

        **Returns:** a [`jaxspark.fit.Record`][] that shares memory with this one.

        **Raises:** `DataError` if fewer than 2 samples are between the bounds, or a channel has
        none there.
        """
        start = int(np.searchsorted(self.times, t0, side="left"))
        stop = int(np.searchsorted(self.times, t1, side="right"))
        if stop - start < 2:
            raise DataError(
                f'record "{self.name}": {max(stop - start, 0)} samples between {t0} s and {t1} s; '
                f"at least 2 are needed. The record goes from {float(self.times[0])} s to "
                f"{float(self.times[-1])} s."
            )
        return self._part(start, stop)

    def unwrapped(self, *names: str, period: float | int = 2 * np.pi) -> "Record":
        """The record with channels that go on where a sensor began anew after each turn.

        Jumps of more than half a period from one sample to the next that is not missing are taken
        for turns: the mechanism must move by less between them.

        **Arguments:**

        - `names`: the names of the channels.
        - `period`: one turn, in the unit of the channels; 360 for degrees.

        **Returns:** a [`jaxspark.fit.Record`][]. Each channel begins as it did.

        **Raises:** `ValueError` for a channel that the record does not have, no name, or a period
        that is not positive.
        """
        if not names:
            raise ValueError("Record.unwrapped: name the channels to unwrap.")
        if not (np.isfinite(period) and period > 0):
            raise ValueError(f"Record.unwrapped: period must be positive and finite; got {period}.")
        channels = dict(self.channels)
        for name in names:
            if name not in channels:
                raise ValueError(
                    f'record "{self.name}": there is no channel "{name}"; there are '
                    f"{', '.join(channels)}."
                )
            values = channels[name].copy()
            there = np.isfinite(values)
            values[there] = np.unwrap(values[there], period=float(period))
            values.setflags(write=False)
            channels[name] = values
        return Record(self.name, self.times, channels, self.inputs, self.units)

    def split(self, fraction: float | int) -> tuple["Record", "Record"]:
        """An earlier part to fit, and the later part to predict.

        **Arguments:**

        - `fraction`: the share of the samples that the earlier part holds, between 0 and 1; rounded
            to whole samples.

        **Returns:** two [`jaxspark.fit.Record`][]s without a common sample.

        **Raises:** `DataError` if a part would have fewer than 2 samples, or a channel none in
        one of them.
        """
        at = round(fraction * self.num_samples)
        if not 0 < fraction < 1 or at < 2 or self.num_samples - at < 2:
            raise DataError(
                f'record "{self.name}": {self.num_samples} samples cannot be split at {fraction}; '
                "the fraction must be between 0 and 1 and leave 2 samples on either side."
            )
        return self._part(0, at), self._part(at, self.num_samples)

    def _part(self, start: int, stop: int) -> "Record":
        channels = {key: values[start:stop] for key, values in self.channels.items()}
        inputs = {key: values[start:stop] for key, values in self.inputs.items()}
        times = self.times[start:stop]
        for key, values in channels.items():
            if np.isnan(values).all():
                raise DataError(
                    f'record "{self.name}": channel "{key}" has no sample from {float(times[0])} s '
                    f"to {float(times[-1])} s, all are missing. Choose another part."
                )
        return Record(self.name, times, channels, inputs, self.units)

    @staticmethod
    def from_series(
        series: Mapping[str, tuple[Any, Any]],
        inputs: Mapping[str, tuple[Any, Any]] | None = None,
        *,
        name: str = "record",
        units: Mapping[str, str] | None = None,
        tolerance: float | int | None = None,
    ) -> "Record":
        """A record of channels and inputs that were sampled at different times.

        They are merged on the union of all times; a channel is NaN at the times of others. The
        times of inputs between those of channels are kept too: what is fast in an input, such as
        a ripple or a short push, drives the model though the channels are slow. Each time of the
        record takes at least one step; thin out an input that is sampled needlessly fast.

        **Arguments:**

        - `series`: by name of the channel, its times (s) and its samples.
        - `inputs`: by name of the input, likewise. They must cover all times of the channels.
            At the times of others they are interpolated linearly; what they have before the
            first and after the last sample of all channels is left out.
        - `name`, `units`: as in [`jaxspark.fit.record`][].
        - `tolerance`: times of different channels that are no further apart than this (s) become
            one. Default: a millionth of the shortest interval in any channel. (Times of inputs
            become one with others only if they differ by rounding.)

        **Returns:** a [`jaxspark.fit.Record`][].

        **Raises:** `DataError` as [`jaxspark.fit.record`][], if the tolerance would merge two
        samples of one channel, or if an input does not cover the channels.
        """
        source = in_memory(name)
        if not series:
            raise _no_channel(source)
        times, channels, driven = joined(source, series, inputs or {}, tolerance)
        made = checked(source, name, times, channels, driven, units or {}, "allow")
        for doubt in doubts(made.name, made.times, made.channels, made.inputs, made.units):
            warnings.warn(doubt, DataWarning, stacklevel=2)
        return made


def record(
    times: Any,
    channels: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    name: str = "record",
    units: Mapping[str, str] | None = None,
    missing: Missing = "error",
) -> Record:
    """Make a record of arrays, which are copied and checked.

    Warns (`DataWarning`) of times that look like milliseconds, microseconds, nanoseconds (steps
    of 1 s and more in more than 100 samples, of 5 s and more in fewer) or seconds since 1970, of
    angles in rad that look like degrees (the largest above 4 pi, two turns, and not above 360),
    and of channels and inputs that never change. `warnings.simplefilter("ignore", DataWarning)`
    silences it.

    **Arguments:**

    - `times`: those of the samples (s), strictly increasing; shape `(n,)`.
    - `channels`: by name, what was measured and is to be predicted; each of shape `(n,)`.
    - `inputs`: by name, what was measured and drives the model; likewise. Default: none.
    - `name`: for messages and reports.
    - `units`: by name of a channel or input, for instance `"rad"`. Values stay as they are.
    - `missing`: `"allow"` to permit NaN, for a missing sample, in `channels`; else `"error"`.

    **Returns:** a [`jaxspark.fit.Record`][].

    **Raises:** `DataError` that names index, channel, value and cure: for what is no number,
    NaN or infinite, for times not increasing or twice the same, lengths that differ, fewer than
    2 samples, a channel without any sample, and units of unknown channels.
    """
    check_missing(missing)
    source = in_memory(name)
    made = checked(
        source,
        name,
        as_numbers(source, "time", times),
        {key: as_numbers(source, f'channel "{key}"', values) for key, values in channels.items()},
        {key: as_numbers(source, f'input "{key}"', v) for key, v in (inputs or {}).items()},
        units or {},
        missing,
    )
    for doubt in doubts(made.name, made.times, made.channels, made.inputs, made.units):
        warnings.warn(doubt, DataWarning, stacklevel=2)
    return made


def checked(
    source: Source,
    name: str,
    times: Float[np.ndarray, " n"],
    channels: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    missing: Missing,
    labels: Mapping[str, str] | None = None,
) -> Record:
    """A record of arrays that are its own already; `labels` for messages, that of times at ""."""
    labels = labels or {}
    if not channels:
        raise _no_channel(source)
    both = sorted(set(channels) & set(inputs))
    if both:
        raise DataError(
            f'{source.name}: "{both[0]}" is a channel and an input. Give one of them another name.'
        )
    samples = [(key, f'channel "{key}"', values) for key, values in channels.items()]
    samples += [(key, f'input "{key}"', values) for key, values in inputs.items()]
    for key, label, values in samples:
        check_length(source, labels.get(key, label), values, times.size)
    check_times(source, labels.get("", "time"), times)
    for key, label, values in samples:
        allowed = missing if key in channels else "error"
        check_finite(source, labels.get(key, label), values, allowed)
    names = [*channels, *inputs]
    for key in units:
        if key not in names:
            raise unknown(source.name, "channel or input", key, names)
    for array in (times, *channels.values(), *inputs.values()):
        array.flags.writeable = False
    all_units = {key: units.get(key, "") for key in names}
    return Record(name, times, dict(channels), dict(inputs), all_units)


def _no_channel(source: Source) -> DataError:
    return DataError(f"{source.name}: there is no channel. Name at least one in `channels`.")
