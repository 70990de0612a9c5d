"""A boundary across which a compiler does not move computations."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from ._primitive import ad, batching, mlir, OwnPrimitive


T = TypeVar("T")


def computed_once(tree: T) -> T:
    """The same arrays, computed before anything that uses them.

    XLA on a CPU fuses what makes an array into what uses it, sines and divisions too, and then
    computes each entry again as often as it is used, six times in the Jacobian of a joint; of
    `jax.lax.optimization_barrier` there is nothing left by then. A primitive, so that
    derivatives pass; without it there is `jax.lax.optimization_barrier`.
    """
    leaves, structure = jax.tree.flatten(tree)
    moving = [i for i, leaf in enumerate(leaves) if _floating(leaf)]
    if not moving:
        return tree
    values = [jnp.asarray(leaves[i]) for i in moving]
    outputs = once_p.bind(*values) if once_p.usable() else _barrier(*values)
    for i, output in zip(moving, outputs, strict=True):
        leaves[i] = output
    return jax.tree.unflatten(structure, leaves)


def _floating(leaf) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.floating) and jnp.size(leaf) > 0


def _loop(*operands):
    """A loop that makes no trip, or one that changes nothing: nobody but us knows that."""
    # Of all operands: of one alone, which may be a constant, the compiler may know it, too.
    start = jnp.isnan(sum((jnp.asarray(x.ravel()[0], float) for x in operands), start=0.0))

    def body(carry):
        again, *values = carry
        kept = [jnp.where(again, x, jnp.zeros_like(x)) for x in values]
        return (jnp.zeros_like(again), *kept)

    return list(jax.lax.while_loop(lambda carry: carry[0], body, (start, *operands))[1:])


def _barrier(*operands):
    return list(jax.lax.optimization_barrier(operands))


def _jvp(primals, tangents):
    outputs = once_p.bind(*primals)
    return outputs, [ad.instantiate_zeros(tangent) for tangent in tangents]


def _batch(operands, axes):
    return once_p.bind(*operands), axes


def _register(primitive: Any) -> None:
    primitive.multiple_results = True
    primitive.def_impl(lambda *operands: list(operands))
    primitive.def_abstract_eval(lambda *operands: list(operands))
    mlir.register_lowering(primitive, mlir.lower_fun(_barrier, multiple_results=True))
    of_loop = mlir.lower_fun(_loop, multiple_results=True)
    mlir.register_lowering(primitive, of_loop, platform="cpu")
    ad.primitive_jvps[primitive] = _jvp
    batching.primitive_batchers[primitive] = _batch


def _trial() -> bool:
    cubes = jax.vmap(jax.grad(lambda x: computed_once(x**3)))
    return bool(jnp.allclose(jax.jit(cubes)(jnp.arange(3.0)), 3 * jnp.arange(3.0) ** 2))


once_p = OwnPrimitive(
    "computed_once",
    _register,
    _trial,
    "XLA may compute entries of Jacobians again and again: many bodies cost more.",
)
