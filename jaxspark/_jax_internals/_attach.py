"""A primitive that gives a value the derivative of a Newton correction.

Its value is that of its first operands; its derivative is that of these minus a correction,
a function whose value is zero at a root. Being a primitive, and not a function with a custom
rule, it keeps its derivative wherever JAX takes programs apart (reverse mode of `jax.lax.scan`
drops custom rules), to every order. The correction is traced only when somebody
differentiates: values and first derivatives, which have rules of their own, pay nothing for it.
Without the primitive the correction is computed with every value.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ._primitive import ad, batching, mlir, moved_to_front, OwnPrimitive


T = TypeVar("T")


def attach_derivative(correction: Callable[[T, Any], T], x: T, parameters: Any) -> T:
    """`x`, with the derivative of `x - correction(x, parameters)`.

    **Arguments:**

    - `correction`: a function that is zero at these arguments. All that it depends on and
        that is differentiated or vmapped must be among them: it may close over nothing else.
    - `x`: a PyTree of floating-point arrays.
    - `parameters`: a PyTree; what is not an array in it is static.
    """
    leaves, structure = jax.tree.flatten(x)
    arrays, static = eqx.partition(parameters, eqx.is_array)
    others, others_structure = jax.tree.flatten(arrays)
    count = len(leaves)

    def on_leaves(*operands):
        operands = [jnp.asarray(operand) for operand in operands]
        x = jax.tree.unflatten(structure, operands[:count])
        arrays = jax.tree.unflatten(others_structure, operands[count:])
        return tuple(jax.tree.leaves(correction(x, eqx.combine(arrays, static))))

    if not attach_p.usable():
        return jax.tree.unflatten(structure, _plain(on_leaves, leaves, others))
    outputs = attach_p.bind(*leaves, *others, correction=on_leaves, count=count)
    return jax.tree.unflatten(structure, outputs)


def _plain(correction: Callable[..., Any], leaves: list[Any], others: list[Any]) -> list[Any]:
    """The value of the leaves, with the derivative of these minus the correction."""
    changes = correction(*leaves, *others)
    # Zero, but not where equations have no finite value.
    zeros = [change - jax.lax.stop_gradient(change) for change in changes]
    safe = [jnp.where(jnp.isfinite(zero), zero, jnp.zeros_like(zero)) for zero in zeros]
    return [leaf - zero for leaf, zero in zip(leaves, safe, strict=True)]


def _value(*operands, correction, count):
    del correction
    return list(operands[:count])


def _jvp(primals, tangents, *, correction, count):
    outputs = attach_p.bind(*primals, correction=correction, count=count)
    moving = [i for i, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]

    def along(*values):
        operands = list(primals)
        for i, value in zip(moving, values, strict=True):
            operands[i] = value
        return correction(*operands)

    directions = tuple(tangents[i] for i in moving)
    _, changes = jax.jvp(along, tuple(primals[i] for i in moving), directions)
    kept = [ad.instantiate_zeros(tangent) for tangent in tangents[:count]]
    return outputs, [a - b for a, b in zip(kept, changes, strict=True)]


def _batch(operands, axes, *, correction, count):
    size, moved = moved_to_front(operands, axes)
    # What is differentiated along a batch of parameters is a batch.
    for i in range(count):
        if axes[i] is None:
            moved[i] = jnp.broadcast_to(moved[i], (size, *moved[i].shape))
    lanes = tuple(0 if i < count or a is not None else None for i, a in enumerate(axes))
    batched = jax.vmap(correction, lanes)
    return attach_p.bind(*moved, correction=batched, count=count), [0] * count


def _register(primitive: Any) -> None:
    primitive.multiple_results = True
    primitive.def_impl(_value)
    primitive.def_abstract_eval(_value)
    mlir.register_lowering(primitive, lambda _, *operands, count, **__: operands[:count])
    ad.primitive_jvps[primitive] = _jvp
    batching.primitive_batchers[primitive] = _batch


def _trial() -> bool:
    """Second derivatives of a square root, in a scan, for a batch."""

    def root(p):
        start = jax.lax.stop_gradient(jnp.sqrt(p))
        return attach_derivative(lambda x, p: (x**2 - p) / (2 * x), start, p)

    def looped(p):
        twice = lambda x: attach_derivative(lambda x, p: (x**2 - p) / (2 * x), x, p)
        return jax.lax.scan(lambda c, _: (c * twice(root(p)), None), 1.0, None, length=2)[0]

    found = jax.jit(jax.vmap(jax.jacfwd(jax.grad(looped))))(jnp.array([2.0, 3.0]))
    slope = jax.jit(jax.grad(root))(4.0)
    return bool(jnp.allclose(found, 0.0, atol=1e-4)) and bool(jnp.allclose(slope, 0.25))


attach_p = OwnPrimitive(
    "attach_derivative",
    _register,
    _trial,
    "Corrections of roots are computed with every value: steps cost more.",
)
