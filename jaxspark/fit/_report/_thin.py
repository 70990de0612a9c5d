"""Fewer points that look the same."""

import numpy as np
from jaxtyping import Float, Int


def thin(values: Float[np.ndarray, " n"], most: int) -> Int[np.ndarray, " m"]:
    """Which samples of a long series to draw: of each stretch the lowest and the highest.

    **Arguments:**

    - `values`: of all samples. A stretch with a NaN is a gap.
    - `most`: how many to keep; all, if there are not more.

    **Returns:** their indices, increasing; with the first and the last.
    """
    if values.size <= most:
        return np.arange(values.size)
    edges = np.linspace(0, values.size, max(1, most // 2 - 1) + 1).astype(np.intp)
    kept = [0, values.size - 1]
    for start, stop in zip(edges[:-1], edges[1:]):
        stretch = values[start:stop]
        kept += [int(start + stretch.argmin()), int(start + stretch.argmax())]
    return np.unique(np.array(kept, dtype=np.intp))
