"""Checks of what `solve` is given; each error says what is wrong."""

from numbers import Integral
from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np


def check_sizes(first_step: Any, max_step: Any) -> None:
    """Sizes of steps are positive."""
    for name, value in (("first_step", first_step), ("max_step", max_step)):
        if value is None or isinstance(value, jax.core.Tracer):
            continue
        if np.ndim(value) or not np.asarray(value) > 0:
            raise ValueError(f"{name} must be a positive number; got {value!r}.")


def check_times(
    times: list[Any], ts: Any, every: bool, dense: bool, max_steps: Any, max_events: Any
) -> None:
    """Times are finite, in order, and what is to be saved has room."""
    if every and ts is not None:
        raise ValueError("Give either ts or save_every.")
    if max_steps is None and (every or dense):
        raise ValueError("save_every and dense=True need room for all steps: give max_steps.")
    for name, value in (("max_steps", max_steps), ("max_events", max_events)):
        if name == "max_steps" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive Python integer; got {value!r}.")
    if any(t.ndim for t in times):
        raise ValueError("t0 and t1 must be scalars; use jax.vmap for a batch of them.")
    if ts is not None and jnp.ndim(ts) != 1:
        raise ValueError(f"ts must be a vector of times; its shape is {jnp.shape(ts)}.")
    if ts is not None and ts.size == 0:
        raise ValueError("ts has no times in it; leave it out to save the start and the end.")
    if any(isinstance(x, jax.core.Tracer) for x in (*times, ts)):
        return
    # NumPy's: operations of JAX are traced inside of `jax.jit`, those on known numbers, too.
    first, last = (np.asarray(t) for t in times)
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"t0 and t1 must be finite; got {first} and {last}.")
    if ts is not None:
        forward = 1 if last >= first else -1
        inside = np.concatenate([[first], np.asarray(ts), [last]]) * forward
        if not np.all(np.diff(inside) >= 0):
            raise ValueError("ts must be in the order of time, and between t0 and t1.")


def filled_tolerances(rtol: Any, atol: Any, dtype: Any) -> tuple[Any, Any]:
    """Both of them with defaults, checked against the precision of the state."""
    epsilon = float(jnp.finfo(dtype).eps)
    rtol = (1e-6 if epsilon < 1e-10 else 1e-3) if rtol is None else rtol
    atol = rtol if atol is None else atol
    known = [x for x in (rtol, atol) if not isinstance(x, jax.core.Tracer)]
    for name, value in (("rtol", rtol), ("atol", atol)):
        if isinstance(value, jax.core.Tracer):
            continue
        number = np.asarray(value)
        if number.dtype.kind not in "fiu" or not (number.ndim == 0 and 0 <= number < np.inf):
            raise ValueError(f"{name} must be a number >= 0; got {value!r}.")
    if len(known) == 2 and max(np.asarray(x) for x in known) < 10 * epsilon:
        raise ValueError(
            f"rtol = {rtol:g} and atol = {atol:g} are below the rounding errors of {dtype}; at "
            f"least one must reach {10 * epsilon:.2g}."
        )
    return rtol, atol
