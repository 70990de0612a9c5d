"""Stopping gradients through a PyTree that also holds functions and other static leaves."""

from typing import TypeVar

import equinox as eqx
import jax


T = TypeVar("T")


def stop_gradient(tree: T) -> T:
    """The tree with no derivative flowing through its floating-point arrays.

    The same array in several places stays one.
    """
    arrays, rest = eqx.partition(tree, eqx.is_inexact_array)
    stopped = {id(leaf): jax.lax.stop_gradient(leaf) for leaf in jax.tree.leaves(arrays)}
    return eqx.combine(jax.tree.map(lambda leaf: stopped[id(leaf)], arrays), rest)
