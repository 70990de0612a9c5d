"""The times of all steps: those of the samples, and enough between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Grid:
    """Times of steps, some of which are those of the samples.

    - `ts`: of all steps (s), that of the initial state first.
    - `at`: which of them are those of the samples.
    """

    ts: Float[np.ndarray, "*trials n"]
    at: Int[np.ndarray, "*trials m"]


def grid(times: Float[np.ndarray, " m"], step: float) -> Grid:
    """Equal steps between each two samples, as few as are no longer than `step` (s)."""
    gaps = np.diff(times)
    # Samples on a multiple of the step, but for rounding, need no further one.
    counts = np.maximum(1, np.ceil(gaps / step * (1 - 1e-9))).astype(int)
    at = np.concatenate([[0], np.cumsum(counts)])
    starts, sizes = np.repeat(times[:-1], counts), np.repeat(gaps / counts, counts)
    within = np.arange(at[-1]) - np.repeat(at[:-1], counts)
    ts = np.append(starts + within * sizes, times[-1])
    ts[at] = times
    return Grid(ts, at)


def stacked(grids: Sequence[Grid]) -> Grid:
    """Grids padded to one length: no step is made between equal times.

    The numbers of padded samples are those of the last time.
    """
    steps = max(g.ts.size for g in grids)
    samples = max(g.at.size for g in grids)
    ts = np.stack([np.pad(g.ts, (0, steps - g.ts.size), mode="edge") for g in grids])
    at = np.stack([np.pad(g.at, (0, samples - g.at.size), mode="edge") for g in grids])
    return Grid(ts, at)
