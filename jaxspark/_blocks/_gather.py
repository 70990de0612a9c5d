"""Entries taken from an array at static positions, by slices where these are regular."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def take(values: Any, index: np.ndarray) -> Any:
    """`values[index]` along the first axis, for a static `index` of any shape.

    Positions that are an affine function of the index are slices, reshapes and reversals: on a
    CPU much faster than the gather that stands for all others.
    """
    affine = _affine(index)
    if affine is None:
        return values[jnp.asarray(index, jnp.int32)]
    offset, strides = affine
    moved = jnp.moveaxis(values, 0, -1)
    taken = _strided(moved, offset, index.shape, strides)
    return jnp.moveaxis(taken, range(-index.ndim, 0), range(index.ndim)) if index.ndim else taken


def _affine(index: np.ndarray) -> tuple[int, tuple[int, ...]] | None:
    """`offset` and `strides` with `index[i, j, ..] = offset + strides . (i, j, ..)`."""
    if index.size == 0:
        return None
    strides = []
    for axis, size in enumerate(index.shape):
        unit = [0] * index.ndim
        unit[axis] = 1
        strides.append(int(index[tuple(unit)] - index.flat[0]) if size > 1 else 0)
    offset = int(index.flat[0])
    grid = np.indices(index.shape)
    expected = offset + sum(s * g for s, g in zip(strides, grid, strict=True))
    nested = all(
        size == 1 or abs(stride) >= rest
        for size, stride, rest in zip(
            index.shape, strides, _extents(index.shape, strides), strict=True
        )
    )
    return (offset, tuple(strides)) if nested and np.array_equal(index, expected) else None


def _extents(shape: tuple[int, ...], strides: list[int]) -> list[int]:
    """How many entries of the array one index of each axis spans with the axes after it."""
    spans, span = [], 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        spans.append(span)
        span += abs(stride) * (size - 1)
    return spans[::-1]


def _strided(values: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The entries along the last axis, which becomes as many axes as `shape` has."""
    if not shape:
        return values[..., offset]
    size, stride = shape[0], strides[0]
    # The lowest position that the axes after this one reach from the offset.
    below = sum(min(s, 0) * (n - 1) for s, n in zip(strides[1:], shape[1:], strict=True))
    step = abs(stride) if size > 1 else values.shape[-1]
    start = offset + below + (stride * (size - 1) if stride < 0 else 0)
    end = start + size * step
    padding = max(0, end - values.shape[-1])
    if padding:
        values = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, padding)])
    part = jax.lax.slice_in_dim(values, start, end, axis=values.ndim - 1)
    part = part.reshape(*values.shape[:-1], size, step)
    if stride < 0:
        part = jax.lax.rev(part, (part.ndim - 2,))
    return _strided(part, -below, shape[1:], strides[1:])
