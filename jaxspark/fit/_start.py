"""Checks of start values, scales and bounds."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ._prior import AbstractPrior
from ._transforms import as_float64, Numbers


def numbers(what: str, name: str, value: Any) -> Float[np.ndarray, "..."]:
    """Numbers in double precision.

    **Raises:** `TypeError` for what is none.
    """
    try:
        return as_float64(value)
    except (TypeError, ValueError):
        hint = ""
        if isinstance(value, str) and name.endswith("bound"):
            hint = f" If it is the unit, give it by name: {what}(..., unit={value!r})."
        raise TypeError(f"{what}: the {name} is {value!r}, which is no number.{hint}") from None


def checked_unit(what: str, unit: Any) -> str:
    """A unit, which is text.

    **Raises:** `TypeError` otherwise.
    """
    if isinstance(unit, str):
        return unit
    name = "prior" if isinstance(unit, AbstractPrior) else "scale"
    hint = f" Other things are given by name: {what}(..., {name}=...)."
    raise TypeError(f'{what}: the unit is {unit!r}; it must be text, such as "m".{hint}')


def finite(what: str, start: Numbers) -> Float[np.ndarray, "..."]:
    """Numbers in double precision, if all are finite and there are any."""
    x = numbers(what, "value given", start)
    if not np.isfinite(x).all():
        raise ValueError(f"{what}: the value given is {x.tolist()}, not finite.")
    if x.size == 0:
        raise ValueError(f"{what}: the value given is an array without entries.")
    return x


def positive_scale(what: str, scale: Numbers, x: np.ndarray) -> Float[np.ndarray, "..."]:
    """A scale in the shape of `x`, if it fits and is positive."""
    number = numbers(what, "scale", scale)
    if number.shape not in ((), x.shape):
        raise ValueError(
            f"{what}: the scale has shape {number.shape}; the start value has shape {x.shape}."
        )
    if not (np.isfinite(number).all() and (number > 0).all()):
        raise ValueError(f"{what}: the scale is {number.tolist()}; it must be positive.")
    return np.broadcast_to(number, x.shape)


def bound_like(what: str, name: str, bound: Numbers, x: np.ndarray) -> Float[np.ndarray, "..."]:
    """A bound in the shape of `x`, if it fits and is finite everywhere or nowhere."""
    number = numbers(what, f"{name} bound", bound)
    if number.shape not in ((), x.shape):
        raise ValueError(
            f"{what}: the {name} bound has shape {number.shape}; the start value has shape "
            f"{x.shape}. Give one number for all entries, or one for each."
        )
    finite = np.isfinite(number)
    if np.isnan(number).any() or finite.any() != finite.all():
        raise ValueError(
            f"{what}: the {name} bound is {number.tolist()}. It must be finite for all entries or "
            "infinite for all; make two parameters otherwise."
        )
    return np.broadcast_to(number, x.shape)
