"""Scans in segments: what the backward pass keeps, and what it computes again."""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import jax
import numpy as np

from .._implicit import CHECKPOINT_NAME


SMALL_BYTES, LONGEST_RUN = 512, 8

Checkpoint: TypeAlias = Literal["none", "stages", "sqrt"] | int | np.integer


def checked(checkpoint: Any) -> Checkpoint:
    """The choice as a string or a Python integer; `ValueError` unless it is a legal one."""
    if isinstance(checkpoint, str) and checkpoint in ("none", "stages", "sqrt"):
        return checkpoint
    if isinstance(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool):
        if checkpoint > 0:
            return int(checkpoint)
    raise ValueError(
        'checkpoint must be "none", "stages", "sqrt" or a positive number of steps in a '
        f"segment; got {checkpoint!r}."
    )


def segment_length(checkpoint: Checkpoint, num_steps: int) -> int | None:
    """The number of steps in a segment, or `None` for no segments."""
    if checkpoint == "sqrt":
        return max(1, math.isqrt(num_steps))
    return None if isinstance(checkpoint, str) else int(checkpoint)


def keep_stages(function: Callable[..., Any], checkpoint: Checkpoint) -> Callable[..., Any]:
    """Keep for the backward pass the converged stages of a step and no more."""
    if checkpoint == "none":
        return function
    policy = jax.checkpoint_policies.save_only_these_names(CHECKPOINT_NAME)
    # Inside a scan nothing can be merged across the barrier that prevent_cse inserts.
    return jax.checkpoint(function, policy=policy, prevent_cse=False)


def segmented_scan(
    body: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, length: int | None
) -> tuple[Any, Any]:
    """`jax.lax.scan`, of whose segments of `length` only the starts are kept.

    The backward pass runs each segment forward once more.
    """
    size = jax.tree.leaves(xs)[0].shape[0]
    if length is None or length >= size:
        return _scan_in_short_runs(body, carry, xs)
    whole = size // length

    def segment(carry, xs):
        return _scan_in_short_runs(body, carry, xs)

    first = jax.tree.map(lambda x: x[: whole * length].reshape(whole, length, *x.shape[1:]), xs)
    carry, ys = jax.lax.scan(jax.checkpoint(segment, prevent_cse=False), carry, first)
    ys = jax.tree.map(lambda y: y.reshape(whole * length, *y.shape[2:]), ys)
    if whole * length == size:
        return carry, ys
    rest = jax.tree.map(lambda x: x[whole * length :], xs)
    carry, tail = jax.checkpoint(segment)(carry, rest)
    joined = jax.tree.map(lambda a, b: jax.numpy.concatenate([a, b]), ys, tail)
    return carry, joined


def _scan_in_short_runs(
    body: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any
) -> tuple[Any, Any]:
    """`jax.lax.scan`, as a scan over runs of a few steps each where that is faster.

    XLA on a CPU runs the kernels of a loop one after the other, without the book-keeping of
    its thread pool, if no array in the loop is larger than 512 bytes: for small systems that
    takes a third off a gradient. What the backward pass needs of all steps is larger; what it
    needs of a few steps, each at most twice as large as the carry, is not.
    """
    size = jax.tree.leaves(xs)[0].shape[0]
    largest = max(leaf.nbytes for leaf in jax.tree.leaves(carry))
    longest = min(LONGEST_RUN, SMALL_BYTES // max(2 * largest, 1))
    run = max((d for d in range(1, longest + 1) if size % d == 0), default=1)
    if run == 1:
        return jax.lax.scan(body, carry, xs)
    xs = jax.tree.map(lambda x: x.reshape(size // run, run, *x.shape[1:]), xs)
    carry, ys = jax.lax.scan(lambda carry, x: jax.lax.scan(body, carry, x), carry, xs)
    return carry, jax.tree.map(lambda y: y.reshape(size, *y.shape[2:]), ys)
