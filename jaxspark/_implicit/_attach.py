"""A primitive that gives a value the derivative of a Newton correction.

Its value is that of its first operands; its derivative is that of these minus a correction,
a function whose value is zero at a root. Being a primitive, and not a function with a custom
rule, it keeps its derivative wherever JAX takes programs apart (reverse mode of `jax.lax.scan`
drops custom rules), to every order. The correction is traced only when somebody
differentiates: values and first derivatives, which have rules of their own, pay nothing for it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


T = TypeVar("T")

attach_p = Primitive("attach_derivative")
attach_p.multiple_results = True


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

    outputs = attach_p.bind(*leaves, *others, correction=on_leaves, count=count)
    return jax.tree.unflatten(structure, outputs)


@attach_p.def_impl
def _value(*operands, correction, count):
    del correction
    return list(operands[:count])


attach_p.def_abstract_eval(_value)
mlir.register_lowering(attach_p, lambda _, *operands, count, **__: operands[:count])


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
    size = next(x.shape[a] for x, a in zip(operands, axes, strict=True) if a is not None)
    moved = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(operands, axes, strict=True)]
    # What is differentiated along a batch of parameters is a batch.
    for i in range(count):
        if axes[i] is None:
            moved[i] = jnp.broadcast_to(moved[i], (size, *moved[i].shape))
    lanes = tuple(0 if i < count or a is not None else None for i, a in enumerate(axes))
    batched = jax.vmap(correction, lanes)
    return attach_p.bind(*moved, correction=batched, count=count), [0] * count


ad.primitive_jvps[attach_p] = _jvp
batching.primitive_batchers[attach_p] = _batch
