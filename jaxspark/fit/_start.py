"""Checks of start values, scales and bounds."""

import numpy as np
from jaxtyping import Float

from ._transforms import as_float64, Numbers


def finite(what: str, start: Numbers) -> Float[np.ndarray, "..."]:
    """Numbers in double precision, if all are finite and there are any."""
    x = as_float64(start)
    if not np.isfinite(x).all():
        raise ValueError(f"{what}: the value given is {x.tolist()}, not finite.")
    if x.size == 0:
        raise ValueError(f"{what}: the value given is an array without entries.")
    return x


def positive_scale(what: str, scale: Numbers, x: np.ndarray) -> Float[np.ndarray, "..."]:
    """A scale in the shape of `x`, if it fits and is positive."""
    number = as_float64(scale)
    if number.shape not in ((), x.shape):
        raise ValueError(
            f"{what}: the scale has shape {number.shape}; the start value has shape {x.shape}."
        )
    if not (np.isfinite(number).all() and (number > 0).all()):
        raise ValueError(f"{what}: the scale is {number.tolist()}; it must be positive.")
    return np.broadcast_to(number, x.shape)


def bound_like(what: str, name: str, bound: Numbers, x: np.ndarray) -> Float[np.ndarray, "..."]:
    """A bound in the shape of `x`, if it fits and is finite everywhere or nowhere."""
    number = as_float64(bound)
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
