"""The states at the final times, known to 1e-11 or better."""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from ._arrays import Arrays
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


def end_residual(mechanism: Mechanism, end: np.ndarray) -> float:
    """The greatest residual at `t_end` of a constraint on coordinates or velocities."""
    arrays, t = Arrays(mechanism), jnp.asarray(mechanism.t_end)
    q, v = jnp.asarray(end[: mechanism.nq]), jnp.asarray(end[mechanism.nq :])
    along = (jnp.ones_like(t), arrays.kin(q, v))
    both = jax.jvp(arrays.holonomic, (t, q), along) if arrays.has_g else ()
    blades = (arrays.nonholonomic(q, v),) if arrays.has_k else ()
    return float(max(jnp.max(jnp.abs(part)) for part in (*both, *blades)))
