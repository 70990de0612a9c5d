"""Checks of what `solve` is given; each error says what is wrong."""

from numbers import Integral
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from ._options import Options


def check_sizes(first_step: Any, max_step: Any) -> None:
    """Sizes of steps are positive."""
    for name, value in (("first_step", first_step), ("max_step", max_step)):
        if value is None or isinstance(value, jax.core.Tracer):
            continue
        number = np.asarray(value)
        if number.ndim or number.dtype.kind not in "fiu" or not number > 0:
            raise ValueError(f"{name} must be a positive number; got {value!r}.")


def check_room(options: Options) -> None:
    """What is to be saved has room."""
    if options.save_every is not None and options.ts is not None:
        raise ValueError("Give either ts or save_every.")
    if options.max_steps is None and (options.save_every is not None or options.dense):
        raise ValueError("save_every and dense=True need room for all steps: give max_steps.")
    numbers = {"max_steps": options.max_steps, "max_events": options.max_events}
    for name, value in numbers.items():
        if name == "max_steps" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive Python integer; got {value!r}.")


def check_times(t0: Any, t1: Any, ts: Any, dtype: Any) -> None:
    """Times are finite and in order, those that are known.

    Before they become arrays of JAX: inside of `jax.jit` all of these are traced.
    """
    for name, value in (("t0", t0), ("t1", t1), ("ts", ts)):
        if not _is_real(value):
            raise TypeError(f"{name} must be real numbers; got {value!r}.")
    if _shape(t0, dtype) or _shape(t1, dtype):
        raise ValueError("t0 and t1 must be scalars; use jax.vmap for a batch of them.")
    shape = (1,) if ts is None else _shape(ts, dtype)
    if len(shape) != 1:
        raise ValueError(f"ts must be a vector of times; its shape is {shape}.")
    if shape == (0,):
        raise ValueError("ts has no times in it; leave it out to save the start and the end.")
    known = [_known(t, dtype) for t in (t0, t1)]
    if any(t is not None and not np.isfinite(t) for t in known):
        raise ValueError(f"t0 and t1 must be finite; got {t0} and {t1}.")
    times, (first, last) = None if ts is None else _known(ts, dtype), known
    if times is None or first is None or last is None:
        return
    forward = 1 if last >= first else -1
    if not np.all(np.diff(np.concatenate([[first], times, [last]]) * forward) >= 0):
        raise ValueError("ts must be in the order of time, and between t0 and t1.")


def _is_real(value: Any) -> bool:
    leaves = jax.tree.leaves(value)
    known = [x for x in leaves if not isinstance(x, jax.core.Tracer)]
    return all(np.asarray(x).dtype.kind in "fiu" for x in known)


def _known(value: Any, dtype: Any) -> np.ndarray | None:
    """As an array of NumPy; `None` if it, or a part of it, is traced."""
    traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(value))
    return None if traced else np.asarray(value, dtype)


def _shape(value: Any, dtype: Any) -> tuple[int, ...]:
    known = _known(value, dtype)
    return jnp.asarray(value, dtype).shape if known is None else known.shape


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
