"""The states at the final times, known to 1e-11 or better."""

import json
import pathlib

import numpy as np

from ._mechanism import Mechanism


def reference(mechanism: Mechanism) -> np.ndarray:
    """The coordinates and velocities at `t_end`, joined."""
    path = pathlib.Path(__file__).parent / "references.json"
    entry = json.loads(path.read_text())[mechanism.name]
    return np.array(entry["q"] + entry["v"])


def end_error(mechanism: Mechanism, end: np.ndarray) -> float:
    """The greatest `|x_i - ref_i| / (1 + |ref_i|)` over coordinates and velocities."""
    exact = reference(mechanism)
    return float(np.max(np.abs(end - exact) / (1 + np.abs(exact))))
