"""A primitive that is traced when a program is compiled: what nobody needs never is."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jaxtyping import Array


later_p = Primitive("later")


def later(function: Callable[..., Array], like: Array, *operands: Any) -> Array:
    """`function(like, *operands)`, whose result has the shape of `like`.

    It has no derivative, and is for rules of derivatives: these are set up with every value, but
    few values are differentiated.

    **Arguments:**

    - `function`: closes over nothing that is traced.
    - `operands`: PyTrees; what is not an array in them is static.
    """
    arrays, static = eqx.partition(operands, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)

    def on_leaves(like, *leaves):
        arrays = jax.tree.unflatten(structure, leaves)
        return function(like, *eqx.combine(arrays, static))

    return later_p.bind(like, *leaves, function=on_leaves)


@later_p.def_impl
def _value(*operands, function):
    return function(*operands)


def _batch(operands, axes, *, function):
    size = next(x.shape[a] for x, a in zip(operands, axes, strict=True) if a is not None)
    moved = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(operands, axes, strict=True)]
    if axes[0] is None:
        moved[0] = jnp.broadcast_to(moved[0], (size, *moved[0].shape))
    lanes = (0, *(None if a is None else 0 for a in axes[1:]))
    return later_p.bind(*moved, function=jax.vmap(function, lanes)), 0


later_p.def_abstract_eval(lambda like, *_, function: like)
mlir.register_lowering(later_p, mlir.lower_fun(_value, multiple_results=False))
batching.primitive_batchers[later_p] = _batch
