"""The noise of channels where a fit begins."""

from collections.abc import Sequence

import numpy as np

from ._model import Model
from ._problem import channel_names
from ._record import Record
from ._suitable import as_records, check_measured, check_units


def initial_noise(model: Model, records: Sequence[Record]) -> tuple[list[bool], np.ndarray]:
    """Which channels' noise is known, and where its estimation starts."""
    records = as_records(records)
    check_units(records)
    names = channel_names(model, records)
    check_measured(records, names)
    return known_noise(model, names), noise_of(model, records, names)


def known_noise(model: Model, names: Sequence[str]) -> list[bool]:
    """Which channels' noise is given.

    **Raises:** `ValueError` if that of an unknown channel is, or no positive number.
    """
    given = dict(model.noise or {})
    for name, value in given.items():
        if name not in names:
            raise ValueError(f"noise: there is no channel {name!r}; there are {', '.join(names)}.")
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"noise: {name} must be positive and finite; got {value}.")
    return [name in given for name in names]


def noise_of(model: Model, records: Sequence[Record], names: Sequence[str]) -> np.ndarray:
    """The noise of each channel that is given, and how far the others vary."""
    given = dict(model.noise or {})
    sizes = [given.get(name, _size(name, records)) for name in names]
    return np.array(sizes)


def _size(name: str, records: Sequence[Record]) -> float:
    samples = [record.channels[name] for record in records if name in record.channels]
    x = np.concatenate([np.zeros(0), *samples])
    x = x[~np.isnan(x)]
    if not x.size:
        return 1.0
    # Of a constant channel nothing is known but its size.
    return float(np.std(x) or np.max(np.abs(x)) or 1.0)
