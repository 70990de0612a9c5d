"""Steps between given times."""

from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._custom_types import FloatScalar


class GivenTimes(eqx.Module):
    """The times of all steps.

    - `ts`: the first is that of the initial state. Where two are equal no step is made.
    """

    ts: Float[Array, " n"]

    def step(self, clock: "Place") -> tuple[FloatScalar, FloatScalar]:
        """The size of the next step, and that of the one after it over its own."""
        index = clock.index
        last = self.ts.shape[0] - 1
        here, there = (self.ts[jnp.minimum(index + i, last)] for i in range(2))
        after = self.ts[jnp.minimum(index + 2, last)]
        size = there - here
        ratio = (after - there) / jnp.where(size == 0, 1, size)
        return size, jnp.where((size == 0) | (ratio == 0), 1, ratio)

    def after(self, clock: "Place") -> "Place":
        """The clock after a step."""
        index = clock.index + 1
        return Place(self.ts[index], index)


class Place(eqx.Module):
    """The time, and its number among those given."""

    t: FloatScalar
    index: Int[Array, ""]


def given_times(ts: Any, others: dict[str, Any], dtype: Any) -> tuple[GivenTimes, int]:
    """The times, checked, and the number of steps.

    **Arguments:**

    - `ts`: what the user gave; `others`: arguments that exclude it, by name.
    - `dtype`: of the state.

    **Raises:** `ValueError` if other times are given, too, or these are no increasing or
    decreasing sequence.
    """
    named = [name for name, value in others.items() if value is not None]
    if named:
        raise ValueError(f"ts are the times of all steps: leave out {', '.join(named)}.")
    if not isinstance(ts, jax.core.Tracer):
        known = np.asarray(ts)
        if known.ndim == 1 and known.size > 1:
            steps = np.diff(known)
            if not np.all(np.isfinite(known)):
                raise ValueError("The times ts must be finite.")
            if np.any(steps > 0) and np.any(steps < 0):
                at = int(np.flatnonzero(steps * np.sign(known[-1] - known[0]) < 0)[0])
                raise ValueError(
                    f"The times ts must increase, or decrease: after {known[at]:g} comes "
                    f"{known[at + 1]:g}."
                )
    ts = jnp.asarray(ts, dtype)
    if ts.ndim != 1 or ts.shape[0] == 0:
        raise ValueError(f"ts must be a vector of times, with at least one; got shape {ts.shape}.")
    return GivenTimes(ts), ts.shape[0] - 1
