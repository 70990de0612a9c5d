"""The nearest point that satisfies constraints, by Newton's method with multipliers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from .._custom_types import State
from .._implicit import newton_root, stop_gradient


class Freedom(NamedTuple):
    """In which directions a point may move, and how far apart that takes it.

    - `directions`, `weight`: functions of the parameters that return the matrix of the
        directions and that of the metric.
    - `size`: the number of directions.
    """

    directions: Callable[[Any], Array]
    weight: Callable[[Any], Array]
    size: int


def euclidean(size: int, dtype: np.dtype) -> Freedom:
    """Every direction, with unit weights."""
    identity = jnp.eye(size, dtype=dtype)
    return Freedom(lambda _: identity, lambda _: identity, size)


def held(state: State, hold: Any, size: int, dtype: np.dtype) -> Freedom:
    """The coordinates that `hold`, a prefix of `state`, does not mark, with unit weights."""
    masks = jax.tree.map(
        lambda mask, below: [
            np.broadcast_to(np.asarray(mask, bool), jnp.shape(leaf))
            for leaf in jax.tree.leaves(below)
        ],
        hold, state,
    )  # fmt: skip
    marked = np.concatenate([np.ravel(mask) for mask in jax.tree.leaves(masks)])
    columns = jnp.asarray(np.eye(size)[:, ~marked], dtype)
    identity = jnp.eye(columns.shape[1], dtype=dtype)
    return Freedom(lambda _: columns, lambda _: identity, columns.shape[1])


def nearest(
    constraints: Callable[[Array, Any], Array],
    parameters: Any,
    start: Callable[[Any], Array],
    freedom: Freedom,
    size: int,
) -> tuple[Array, Bool[Array, ""]]:
    """Minimise `x^T W x / 2` subject to `constraints(start + S x) = 0`.

    **Arguments:**

    - `constraints`: a function of the point and the parameters; `size` values.
    - `parameters`: everything that is differentiated.
    - `start`: the point to project, as a function of the parameters.
    - `freedom`: `S` and `W`.

    **Returns:** the point, and whether it satisfies the constraints.
    """
    dtype = start(parameters).dtype
    smallest, free = jnp.finfo(dtype).tiny, freedom.size

    def moved(x, parameters):
        return start(parameters) + freedom.directions(parameters) @ x

    def residual(unknowns, parameters):
        x, mu = unknowns[:free], unknowns[free:]
        value, pull = jax.vjp(lambda x: constraints(moved(x, parameters), parameters), x)
        # In units of the largest mass: of these only the direction of x depends.
        metric = freedom.weight(parameters)
        metric = metric / jnp.maximum(jnp.max(jnp.abs(metric), initial=0), smallest)
        return jnp.concatenate([metric @ x + pull(mu)[0], value])

    root = newton_root(residual, parameters, jnp.zeros(free + size, dtype), jnp.linalg.pinv)
    end = moved(root.value[:free], parameters)
    left = jnp.max(jnp.abs(stop_gradient(constraints(end, parameters))), initial=0)
    extent = 1 + jnp.max(jnp.abs(stop_gradient(end)), initial=0)
    small = left <= jnp.sqrt(jnp.finfo(dtype).eps) * extent
    return end, root.converged & small
