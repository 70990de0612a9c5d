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


def marked(name: str, state: State, hold: Any) -> tuple[bool, ...]:
    """For each entry of the state whether `hold`, a prefix of it, marks it.

    **Raises:** `ValueError` that names the argument if `hold` does not fit the state.
    """

    def mark(mask: Any, below: Any) -> list[np.ndarray]:
        mask = np.asarray(mask)
        shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(below)]
        if mask.dtype != bool or any(mask.shape not in ((), shape) for shape in shapes):
            raise ValueError(
                f"{name} must hold booleans, alone or one for each entry of the state; "
                f"got {mask!r}."
            )
        return [np.broadcast_to(mask, shape) for shape in shapes]

    is_leaf = jax.tree.structure(state) == jax.tree.structure(0)
    masks = mark(hold, state) if is_leaf else jax.tree.map(mark, hold, state)
    return tuple(bool(x) for mask in jax.tree.leaves(masks) for x in np.ravel(mask))


def unit_weights(size: int, held: tuple[bool, ...] | None, dtype: np.dtype) -> Freedom:
    """Every direction but those of coordinates that are held, with unit weights."""
    columns = np.eye(size) if held is None else np.eye(size)[:, ~np.asarray(held, bool)]
    free = columns.shape[1]
    directions, identity = jnp.asarray(columns, dtype), jnp.eye(free, dtype=dtype)
    return Freedom(lambda _: directions, lambda _: identity, free)


def nearest(
    constraints: Callable[[Array, Any], Array],
    parameters: Any,
    start: Callable[[Any], Array],
    freedom: Freedom,
    size: int,
    invert: Callable[[Array], Array] = jnp.linalg.pinv,
) -> tuple[Array, Bool[Array, ""]]:
    """Minimise `x^T W x / 2` subject to `constraints(start + S x) = 0`.

    **Arguments:**

    - `constraints`: a function of the point and the parameters; `size` values.
    - `parameters`: everything that is differentiated.
    - `start`: the point to project, as a function of the parameters.
    - `freedom`: `S` and `W`.
    - `invert`: the inverse of a matrix; the default admits redundant constraints.

    **Returns:** the point, and whether it satisfies the constraints.
    """
    dtype = start(parameters).dtype
    smallest, free = jnp.finfo(dtype).tiny, freedom.size
    if free + size == 0:  # everything is held, and nothing is asked of it
        return start(parameters), jnp.asarray(True)

    def moved(x, parameters):
        return start(parameters) + freedom.directions(parameters) @ x

    def residual(unknowns, parameters):
        x, mu = unknowns[:free], unknowns[free:]
        value, pull = jax.vjp(lambda x: constraints(moved(x, parameters), parameters), x)
        # In units of the largest mass: of these only the direction of x depends.
        metric = freedom.weight(parameters)
        metric = metric / jnp.maximum(jnp.max(jnp.abs(metric), initial=0), smallest)
        return jnp.concatenate([metric @ x + pull(mu)[0], value])

    root = newton_root(residual, parameters, jnp.zeros(free + size, dtype), invert)
    end = moved(root.value[:free], parameters)
    left = jnp.max(jnp.abs(stop_gradient(constraints(end, parameters))), initial=0)
    extent = 1 + jnp.max(jnp.abs(stop_gradient(end)), initial=0)
    small = left <= jnp.sqrt(jnp.finfo(dtype).eps) * extent
    return end, root.converged & small
