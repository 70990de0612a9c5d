"""Primitives that only move numbers, in NumPy: applied to positions they say what went where.

Each takes the parameters of the primitive, the operands as arrays of integers, which are the
positions of their elements, and what is known of the values of the operands. It returns where
each element of the results comes from, -1 for nowhere. `None`: the values decide, and are not
known.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Int


Positions = list[np.ndarray]
Values = Sequence[np.ndarray | None]
Axes = Sequence[int | np.integer]


def _broadcast_in_dim(params: dict, at: Positions, values: Values) -> Positions:
    shape, axes = params["shape"], params["broadcast_dimensions"]
    kept = np.ones(len(shape), int)
    kept[list(axes)] = at[0].shape
    return [np.broadcast_to(at[0].reshape(kept), shape)]


def _concatenate(params: dict, at: Positions, values: Values) -> Positions:
    return [np.concatenate(at, params["dimension"])]


def _dynamic_starts(
    starts: Values, shape: Sequence[int], sizes: Sequence[int]
) -> list[slice] | None:
    known = [start for start in starts if start is not None]
    if len(known) < len(shape):
        return None
    slices = []
    for start, length, size in zip(known, shape, sizes, strict=True):
        first = min(max(int(start), 0), length - size)
        slices.append(slice(first, first + size))
    return slices


def _dynamic_slice(params: dict, at: Positions, values: Values) -> Positions | None:
    slices = _dynamic_starts(values[1:], at[0].shape, params["slice_sizes"])
    return None if slices is None else [np.asarray(at[0][tuple(slices)])]


def _dynamic_update_slice(params: dict, at: Positions, values: Values) -> Positions | None:
    slices = _dynamic_starts(values[2:], at[0].shape, at[1].shape)
    if slices is None:
        return None
    result = at[0].copy()
    result[tuple(slices)] = at[1]
    return [result]


def _pad(params: dict, at: Positions, values: Values) -> Positions:
    operand, filling = at
    shape, source, target = [], [], []
    for length, (low, high, interior) in zip(operand.shape, params["padding_config"], strict=True):
        size = low + high + length + max(length - 1, 0) * interior
        there = low + np.arange(length) * (interior + 1)
        inside = np.flatnonzero((there >= 0) & (there < size))
        shape.append(size)
        source.append(inside)
        target.append(there[inside])
    result = np.full(shape, filling)
    result[np.ix_(*target)] = operand[np.ix_(*source)]
    return [result]


def _reshape(params: dict, at: Positions, values: Values) -> Positions:
    ordered = at[0] if params["dimensions"] is None else at[0].transpose(params["dimensions"])
    return [ordered.reshape(params["new_sizes"])]


def _select(params: dict, at: Positions, values: Values) -> Positions | None:
    if values[0] is None:
        return None
    which = np.broadcast_to(values[0].astype(int), at[1].shape)
    return [np.asarray(np.take_along_axis(np.stack(at[1:]), which[None], 0)[0])]


def _slice(params: dict, at: Positions, values: Values) -> Positions:
    strides = params["strides"] or (1,) * at[0].ndim
    bounds = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return [np.asarray(at[0][tuple(slice(*bound) for bound in bounds)])]


def _split(params: dict, at: Positions, values: Values) -> Positions:
    return np.split(at[0], np.cumsum(params["sizes"])[:-1], params["axis"])


def windows(
    indices: Int[np.ndarray, "*batch k"],
    shape: Axes,
    sizes: Axes,
    offsets: Axes,
    hidden: Axes,
    starts: Axes,
    batched: Sequence[tuple[int | np.integer, int | np.integer]],
    drop: bool,
) -> np.ndarray:
    """The positions in an operand of the windows that a gather reads or a scatter writes.

    **Arguments:**

    - `indices`: where the windows start; `starts` says along which axes of the operand.
    - `shape`, `sizes`: of the operand and of a window, along each axis of the operand.
    - `offsets`: the axes of the result that run through a window.
    - `hidden`: the axes of the operand that have no such axis, for their window is 1.
    - `batched`: pairs of axes, of the operand and of the indices, that run together.
    - `drop`: windows that stick out give -1; otherwise they are moved inside.
    """
    batch = indices.shape[:-1]
    rank = len(batch) + len(offsets)
    outer = [axis for axis in range(rank) if axis not in offsets]
    first = np.zeros((len(shape), *batch), np.int64)
    for k, axis in enumerate(starts):
        first[axis] = indices[..., k]
    for axis, along in batched:
        counted = np.arange(batch[along]).reshape(
            [-1 if i == along else 1 for i in range(len(batch))]
        )
        first[axis] = counted
    last = (np.array(shape, np.int64) - np.array(sizes, np.int64)).reshape(-1, *[1] * len(batch))
    outside = np.any((first < 0) | (first > last), 0)
    first = np.clip(first, 0, last)
    spread = np.ones(rank, int)
    spread[outer] = batch
    result = np.where(outside & drop, -math.prod(shape) - 1, 0).reshape(spread)
    seen = iter(sorted(offsets))
    for axis, size in enumerate(sizes):
        stride = math.prod(shape[axis + 1 :])
        result = result + first[axis].reshape(spread) * stride
        if axis not in hidden:
            along = next(seen)
            steps = np.arange(size).reshape([-1 if i == along else 1 for i in range(rank)])
            result = result + steps * stride
    return np.asarray(np.maximum(result, -1))


def _drops(mode: Any) -> bool:
    clips = (jax.lax.GatherScatterMode.CLIP, jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    return mode not in clips


def _gather(params: dict, at: Positions, values: Values) -> Positions | None:
    if values[1] is None:
        return None
    numbers = params["dimension_numbers"]
    there = windows(
        values[1].astype(np.int64),
        at[0].shape,
        params["slice_sizes"],
        numbers.offset_dims,
        (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims),
        numbers.start_index_map,
        list(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        _drops(params["mode"]),
    )
    return [np.asarray(np.append(at[0].ravel(), -1)[there])]


def scattered(
    params: dict, shape: Sequence[int], updates: Sequence[int], indices: np.ndarray
) -> Int[np.ndarray, "..."]:
    """The positions in the operand of a scatter to which its updates go; -1: dropped."""
    numbers = params["dimension_numbers"]
    hidden = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    inner = iter(updates[axis] for axis in sorted(numbers.update_window_dims))
    sizes = [1 if axis in hidden else next(inner) for axis in range(len(shape))]
    return windows(
        indices.astype(np.int64),
        shape,
        sizes,
        numbers.update_window_dims,
        hidden,
        numbers.scatter_dims_to_operand_dims,
        list(
            zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
        ),
        _drops(params["mode"]),
    )


def _scatter(params: dict, at: Positions, values: Values) -> Positions | None:
    if values[1] is None:
        return None
    there = scattered(params, at[0].shape, at[2].shape, values[1]).ravel()
    written = there >= 0
    if len(np.unique(there[written])) < np.sum(written):
        # Which of several updates wins is not defined.
        return None
    result = at[0].flatten()
    result[there[written]] = at[2].ravel()[written]
    return [result.reshape(at[0].shape)]


MOVES: dict[str, Callable[[dict, Positions, Values], Positions | None]] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "copy": lambda params, at, values: at,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "pad": _pad,
    "reshape": _reshape,
    "rev": lambda params, at, values: [np.flip(at[0], params["dimensions"])],
    "scatter": _scatter,
    "select_n": _select,
    "slice": _slice,
    "split": _split,
    "squeeze": lambda params, at, values: [np.squeeze(at[0], tuple(params["dimensions"]))],
    "stack": lambda params, at, values: [np.stack(at, params["axis"])],
    "tile": lambda params, at, values: [np.tile(at[0], params["reps"])],
    "transpose": lambda params, at, values: [np.transpose(at[0], params["permutation"])],
    "unstack": lambda params, at, values: [
        np.asarray(part) for part in np.moveaxis(at[0], params["axis"], 0)
    ],
}
