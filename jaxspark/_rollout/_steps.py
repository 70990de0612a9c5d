"""Steps whose sizes are known before the motion is."""

from numbers import Integral
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar, RealScalarLike
from ._density import StepDensity
from ._given import given_times, GivenTimes


def check_number(name: str, value: Any, least: int) -> None:
    """Raise unless a value is a Python integer, and not too small.

    **Raises:** `ValueError`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a Python integer, at least {least}; got {value!r}.")


def as_number(value: Any) -> int:
    """A number of steps as a Python integer.

    **Raises:** `ValueError` if it is none, or negative.
    """
    check_number("number", value, 0)
    return int(value)


class EqualSteps(eqx.Module):
    """A number of steps of equal size, for [`jaxspark.solve`][].

    **Arguments:**

    - `number`: how many steps. With 0 the initial state is returned.
    - `h`: their size, of either sign. Default: it follows from the final time `t1` of the solve.

    **Raises:** `ValueError` if `number` is not a Python integer, or negative.
    """

    number: int = eqx.field(static=True, converter=as_number)
    h: RealScalarLike | None = None


class GivenSteps(eqx.Module):
    """Steps between given times, for [`jaxspark.solve`][].

    **Arguments:**

    - `ts`: the times of all steps, that of the initial state first, shape `(n,)`, increasing or
        decreasing. Where two are equal no step is made, so that motions of different lengths can
        be padded to one length and batched.
    """

    ts: Float[Array, " n"] | Any


KnownSteps = EqualSteps | GivenSteps | StepDensity


def known_steps(
    steps: KnownSteps, t0: Any, t1: Any, dtype: Any
) -> tuple[FloatScalar, FloatScalar, int, GivenTimes | StepDensity | None]:
    """The initial time, the size or unit of the steps, their number, and what else is known.

    **Raises:** `ValueError` if times are missing, contradict each other or are no numbers.
    """
    if isinstance(steps, GivenSteps):
        given, number = given_times(steps.ts, {"t0": t0, "t1": t1}, dtype)
        # Without a size of their own: initial checks take this one.
        return given.ts[0], jnp.ones((), dtype), number, given
    t0 = 0.0 if t0 is None else t0
    if isinstance(steps, EqualSteps):
        return *_times(t0, t1, steps.h, steps.number, dtype), steps.number, None
    if t1 is not None:
        raise ValueError("With a density the final time follows from the motion: give h, not t1.")
    if steps.h is None or steps.number is None:
        raise ValueError("StepDensity needs h, the unit of the steps, and their number.")
    check_number("number", steps.number, 0)
    t0, h = _times(t0, None, steps.h, steps.number, dtype)
    initial = None if steps.initial is None else jnp.asarray(steps.initial, dtype)
    return t0, h, steps.number, StepDensity(steps.scale, initial=initial)


def _times(t0, t1, h, number, dtype) -> tuple[FloatScalar, FloatScalar]:
    """`t0` and the step size as arrays of the state's dtype."""
    if (t1 is None) == (h is None):
        raise ValueError("Give either the final time t1 or the step size h.")
    _check_finite("time t0", t0)
    _check_finite("time t1", t1)
    _check_finite("step size h", h)
    t0 = jnp.asarray(t0, dtype)
    if h is None:
        h = (jnp.asarray(t1, dtype) - t0) / max(number, 1)
    h = jnp.asarray(h, dtype)
    if t0.ndim or h.ndim:
        raise ValueError("t0, t1 and h must be scalars; use jax.vmap for a batch of them.")
    known = not isinstance(h, jax.core.Tracer)
    if known and number > 0 and not bool(h != 0):
        raise ValueError(
            "The step size h is zero, or t1 equals t0: time cannot advance. To get the "
            "initial state back, use num_steps=0."
        )
    return t0, h


def _check_finite(name: str, value: Any) -> None:
    if value is None or isinstance(value, jax.core.Tracer):
        return
    if not np.all(np.isfinite(np.asarray(value))):
        raise ValueError(f"The {name} must be finite; got {value}.")
