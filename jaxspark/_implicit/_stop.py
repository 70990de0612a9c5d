"""Stopping gradients through a PyTree that also holds functions and other static leaves."""

from typing import TypeVar

import equinox as eqx
import jax


T = TypeVar("T")


def stop_gradient(tree: T) -> T:
    """The tree with no derivative flowing through its floating-point arrays."""
    arrays, rest = eqx.partition(tree, eqx.is_inexact_array)
    return eqx.combine(jax.lax.stop_gradient(arrays), rest)
