"""A primitive that is traced when a program is compiled: what nobody needs never is."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ._primitive import batching, mlir, moved_to_front, OwnPrimitive


def later(function: Callable[..., Array], like: Array, *operands: Any) -> Array:
    """`function(like, *operands)`, whose result has the shape of `like`.

    It has no derivative, and is for rules of derivatives: these are set up with every value, but
    few values are differentiated. Without the primitive it is traced at once.

    **Arguments:**

    - `function`: closes over nothing that is traced.
    - `operands`: PyTrees; what is not an array in them is static.
    """
    if not later_p.usable():
        return function(like, *operands)
    arrays, static = eqx.partition(operands, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)

    def on_leaves(like, *leaves):
        arrays = jax.tree.unflatten(structure, leaves)
        return function(like, *eqx.combine(arrays, static))

    return later_p.bind(like, *leaves, function=on_leaves)


def _value(*operands, function):
    return function(*operands)


def _batch(operands, axes, *, function):
    size, moved = moved_to_front(operands, axes)
    if axes[0] is None:
        moved[0] = jnp.broadcast_to(moved[0], (size, *moved[0].shape))
    lanes = (0, *(None if a is None else 0 for a in axes[1:]))
    return later_p.bind(*moved, function=jax.vmap(function, lanes)), 0


def _register(primitive: Any) -> None:
    primitive.def_impl(_value)
    primitive.def_abstract_eval(lambda like, *_, function: like)
    mlir.register_lowering(primitive, mlir.lower_fun(_value, multiple_results=False))
    batching.primitive_batchers[primitive] = _batch


def _trial() -> bool:
    twice = jax.vmap(lambda x: later(lambda like, x: 2 * like + x, x, x))
    return bool(jnp.allclose(jax.jit(twice)(jnp.arange(3.0)), 3 * jnp.arange(3.0)))


later_p = OwnPrimitive(
    "later", _register, _trial, "Rules of derivatives are traced with every value."
)
