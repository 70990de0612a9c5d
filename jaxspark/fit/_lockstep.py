"""Many small searches on the host, whose functions are evaluated for all of them at once."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def together(
    searches: Sequence[Generator[np.ndarray, Any, Any]],
    evaluate: Callable[[np.ndarray], Sequence[Any]],
    otherwise: Callable[[int, Exception], Any] | None = None,
) -> list[Any]:
    """What each search returns; each yields points, and is sent what a function gives there.

    **Arguments:**

    - `evaluate`: of points of all searches, shape `(n, ...)`, to a sequence of their values; of a
        search that has ended the point is its last.
    - `otherwise`: the result of a search, by its number, that raises an error; without it that is
        raised.

    **Raises:** what a search raises, with its number as the attribute `lane`.
    """
    count = len(searches)
    results: list[Any] = [None] * count
    at: list[Any] = [None] * count
    values: Sequence[Any] = [None] * count
    going = set(range(count))
    while going:
        for k in sorted(going):
            try:
                at[k] = searches[k].send(values[k])
            except StopIteration as ended:
                results[k] = ended.value
                going.discard(k)
            except (RuntimeError, ValueError) as error:
                if otherwise is None:
                    error.lane = k  # type: ignore[attr-defined]
                    raise
                results[k] = otherwise(k, error)
                going.discard(k)
        if going:
            points: Any = [x if x is not None else at[min(going)] for x in at]
            values = evaluate(np.stack(points))
    return results


def batched(trees: Sequence[Any]) -> tuple[Any, Any]:
    """Trees of one structure as one, and which leaves have an axis for them in front.

    What is the same object in all of them has none.
    """
    leaves = [jax.tree.flatten(tree) for tree in trees]
    structure = leaves[0][1]
    joined, axes = [], []
    for column in zip(*(of for of, _ in leaves), strict=True):
        same = all(leaf is column[0] for leaf in column) or not eqx.is_array_like(column[0])
        joined.append(column[0] if same else jnp.stack([jnp.asarray(x) for x in column]))
        axes.append(not same)
    return jax.tree.unflatten(structure, joined), tuple(axes)


def over(function: Callable[..., Any], axes: tuple[bool, ...], *operands: Any) -> Any:
    """`function(*lane, tree)` of all lanes; the last operand is from [`batched`][]."""
    *lanes, tree = operands
    leaves, structure = jax.tree.flatten(tree)
    moving = [leaf for leaf, axis in zip(leaves, axes, strict=True) if axis]

    def one(moving, *lane):
        rest = iter(moving)
        own = [next(rest) if axis else leaf for leaf, axis in zip(leaves, axes, strict=True)]
        return function(*lane, jax.tree.unflatten(structure, own))

    return jax.vmap(one)(moving, *lanes)
