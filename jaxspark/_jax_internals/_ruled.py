"""A function with a rule for its tangent, which no transformation of JAX takes apart."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.custom_batching
import jax.numpy as jnp

from ._primitive import (
    ad,
    batching,
    full_batch,
    jaxpr_as_fun,
    lowered_as,
    OwnPrimitive,
    zero_tangent,
)


Tangent = Callable[[Any, Any, Any], Any]
Lanes = Callable[[Callable[..., Any]], Callable[..., Any]]


def ruled(
    function: Callable[[Any], Any], tangent: Tangent, operand: Any, lanes: Lanes = jax.vmap
) -> Any:
    """`function(operand)`, with the tangent `tangent(operand, change, output)`.

    What `jax.custom_jvp` does; but reverse mode of `jax.lax.scan` drops the rules of that and keeps
    the code (JAX 0.10), of which second derivatives are then taken. Without the primitive it is a
    custom rule, and the code should be right to differentiate, too.

    **Arguments:**

    - `function`: of one PyTree of arrays. Neither it nor the rule closes over anything traced.
    - `tangent`: `change` is that of the operand, with `None` where it is zero; so is the result.
    - `lanes`: how the function is applied to each lane of a batch.
    """
    if not ruled_p.usable():
        return _plain(function, tangent, operand, lanes)
    leaves, structure = jax.tree.flatten(operand)

    def on_leaves(*leaves):
        return jax.tree.leaves(function(jax.tree.unflatten(structure, leaves)))

    traced, out = jax.make_jaxpr(function, return_shape=True)(operand)
    shapes, out_structure = jax.tree.flatten(out)
    # Traced once, but where devices share operands: there `on_one_device` traces it again.
    if all(jax.typeof(x).sharding.mesh.empty for x in leaves):
        on_leaves = jaxpr_as_fun(traced)

    def of_leaves(leaves, changes, outputs):
        found = tangent(
            jax.tree.unflatten(structure, leaves),
            jax.tree.unflatten(structure, changes),
            jax.tree.unflatten(out_structure, outputs),
        )
        return out_structure.flatten_up_to(found)

    outputs = ruled_p.bind(
        *leaves, function=on_leaves, tangent=of_leaves, lanes=lanes,
        shapes=tuple((x.shape, x.dtype) for x in shapes),
    )  # fmt: skip
    return jax.tree.unflatten(out_structure, outputs)


def _plain(function: Callable[[Any], Any], tangent: Tangent, operand: Any, lanes: Lanes) -> Any:
    own = jax.custom_batching.custom_vmap(function)

    @own.def_vmap
    def _(size, batched, operand):
        full = jax.tree.map(
            lambda x, b: x if b else jnp.broadcast_to(x, (size, *jnp.shape(x))), operand, batched[0]
        )
        out = lanes(function)(full)
        return out, jax.tree.map(lambda _: True, out)

    @eqx.filter_custom_jvp
    def run(operand):
        return own(operand)

    @run.def_jvp
    def _(primals, tangents):
        output = run(*primals)
        (operand,), (change,) = primals, tangents
        return output, tangent(operand, change, output)

    return run(operand)


def _value(*operands, function, **_):
    return function(*operands)


def _compiled(*operands, function, **_):
    return jax.jit(function)(*operands)


def _shapes(*_, shapes, **__):
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in shapes]


def _jvp(primals, tangents, *, tangent, **params):
    outputs = ruled_p.bind(*primals, tangent=tangent, **params)
    changes = [None if type(x) is ad.Zero else x for x in tangents]
    found = tangent(list(primals), changes, list(outputs))
    pairs = zip(outputs, found, strict=True)
    filled = [zero_tangent(x) if change is None else change for x, change in pairs]
    return outputs, filled


def _batch(operands, axes, *, function, tangent, lanes, shapes):
    size, full = full_batch(operands, axes)
    outputs = ruled_p.bind(
        *full, function=lanes(function), tangent=jax.vmap(tangent), lanes=lanes,
        shapes=tuple(((size, *shape), dtype) for shape, dtype in shapes),
    )  # fmt: skip
    return outputs, [0] * len(outputs)


def _register(primitive: Any) -> None:
    primitive.multiple_results = True
    primitive.def_impl(_compiled)
    primitive.def_abstract_eval(_shapes)
    lowered_as(primitive, _value)
    batching.primitive_batchers[primitive] = _batch
    ad.primitive_jvps[primitive] = _jvp


def _trial() -> bool:
    """Second derivatives of a power in a scan, for a batch; the code has no derivative."""

    def fourth(x):
        frozen = lambda x: jax.lax.stop_gradient(x) ** 2
        rule = lambda x, change, _: None if change is None else 2 * x * change
        return ruled(frozen, rule, ruled(frozen, rule, x))

    def looped(x):
        return jax.lax.scan(lambda c, _: (fourth(c), None), x, None, length=1)[0]

    x = jnp.array([2.0, 3.0])
    found = jax.jit(jax.vmap(jax.jacfwd(jax.grad(looped))))(x)
    return bool(jnp.allclose(found, 12 * x**2, rtol=1e-4))


ruled_p = OwnPrimitive(
    "ruled",
    _register,
    _trial,
    "Second derivatives of explicit solves in scans differentiate loops.",
)
