"""Scans in segments: what the backward pass keeps, and what it computes again."""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import jax

from .._implicit import CHECKPOINT_NAME


Checkpoint: TypeAlias = Literal["none", "stages", "sqrt"] | int


def check_checkpoint(checkpoint: Any) -> None:
    """Raise `ValueError` unless it is a legal choice."""
    number = isinstance(checkpoint, int) and not isinstance(checkpoint, bool)
    if checkpoint in ("none", "stages", "sqrt") or (number and checkpoint > 0):
        return
    raise ValueError(
        'checkpoint must be "none", "stages", "sqrt" or a positive number of steps in a '
        f"segment; got {checkpoint!r}."
    )


def segment_length(checkpoint: Checkpoint, num_steps: int) -> int | None:
    """The number of steps in a segment, or `None` for no segments."""
    if checkpoint == "sqrt":
        return max(1, math.isqrt(num_steps))
    return checkpoint if isinstance(checkpoint, int) else None


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
        return jax.lax.scan(body, carry, xs)
    whole = size // length

    def segment(carry, xs):
        return jax.lax.scan(body, carry, xs)

    first = jax.tree.map(lambda x: x[: whole * length].reshape(whole, length, *x.shape[1:]), xs)
    carry, ys = jax.lax.scan(jax.checkpoint(segment, prevent_cse=False), carry, first)
    ys = jax.tree.map(lambda y: y.reshape(whole * length, *y.shape[2:]), ys)
    if whole * length == size:
        return carry, ys
    rest = jax.tree.map(lambda x: x[whole * length :], xs)
    carry, tail = jax.lax.scan(body, carry, rest)
    joined = jax.tree.map(lambda a, b: jax.numpy.concatenate([a, b]), ys, tail)
    return carry, joined
