"""Entries taken by index, whose transpose is a sum and not a scatter.

JAX transposes `x[index]` to a scatter, which XLA makes a loop on a CPU: a microsecond or more each,
as long as all else that a small system evaluates. Here the transpose of few entries is a sum over
comparisons of indices, which fuses with its neighbours. Gathers in loops, branches and functions
with rules of their own are left as they are, and so are those of parts of slices.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._primitive import ad, batching, mlir, OwnPrimitive, zero_tangent
from ._understood import guarded


try:
    from jax.extend.core import jaxpr_as_fun
except ImportError:  # then no primitive is usable
    jaxpr_as_fun: Any = None

NAME = "gathered"
COST = "Gradients of functions that take entries by index cost more."
# Comparisons up to which the sum is worth it.
FEW = 4096


def with_gathers_summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; transposes of what it takes by index are sums, where that is little."""

    def call(*args: Any) -> Any:
        if not gathered_p.usable():
            return function(*args)
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)

        def evaluated() -> Any:
            out = jaxpr_as_fun(_rewritten(closed))(*jax.tree.leaves(args))
            return jax.tree.unflatten(jax.tree.structure(shapes), out)

        what = "Rewriting a program that takes entries by index"
        return guarded(what, COST, evaluated, lambda: function(*args))

    return call


def _rewritten(program: Any) -> Any:
    """A program, closed or open, with our primitive in place of gathers."""
    eqns = [_of_equation(eqn) for eqn in program.eqns]
    if all(new is old for new, old in zip(eqns, program.eqns, strict=True)):
        return program
    # Two classes up to JAX 0.10, and one since.
    if program.jaxpr is program:
        return program.replace(eqns=eqns)
    return program.replace(jaxpr=program.jaxpr.replace(eqns=eqns))


def _of_equation(eqn: Any) -> Any:
    name, params = eqn.primitive.name, eqn.params
    if name == "gather" and _few(eqn.invars[0].aval, eqn.invars[1].aval, params):
        return eqn.replace(primitive=gathered_p.primitive)
    if name in ("jit", "pjit"):
        inner = _rewritten(params["jaxpr"])
        if inner is not params["jaxpr"]:
            return eqn.replace(params={**params, "jaxpr": inner})
    return eqn


def _few(x: Any, indices: Any, params: dict[str, Any]) -> bool:
    """Whether whole slices of length one are taken, and the sum is short."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    taken = tuple(numbers.collapsed_slice_dims)
    wanted = tuple(1 if axis in taken else size for axis, size in enumerate(x.shape))
    known = all(isinstance(size, int) for size in (*x.shape, *indices.shape))
    return (
        known
        and jnp.issubdtype(x.dtype, jnp.floating)
        and tuple(sorted(numbers.start_index_map)) == taken
        and not numbers.operand_batching_dims
        and sizes == wanted
        and math.prod(indices.shape[:-1]) * math.prod(x.shape) <= FEW
    )


def _value(x, indices, **params):
    return jax.lax.gather(x, indices, **params)


def _shape(x, indices, **params):
    found = jax.eval_shape(
        lambda x, i: _value(x, i, **params),
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        jax.ShapeDtypeStruct(indices.shape, indices.dtype),
    )
    return x.update(shape=found.shape)


def _jvp(primals, tangents, **params):
    (x, indices), (change, _) = primals, tangents
    out = gathered_p.bind(x, indices, **params)
    if type(change) is ad.Zero:
        return out, zero_tangent(out)
    return out, gathered_p.bind(change, indices, **{**params, "fill_value": 0})


def _transpose(cotangent, x, indices, **params):
    shape = x.aval.shape
    if type(cotangent) is ad.Zero:
        return [ad.Zero(x.aval), None]
    return [_back(cotangent, indices, shape, **params), None]


def _back(
    cotangent: Array, indices: Array, shape: tuple[int, ...], *, dimension_numbers, mode, **_
) -> Array:
    """The sum of the cotangents of all that was taken from a place, for each place."""
    taken, offset = dimension_numbers.collapsed_slice_dims, dimension_numbers.offset_dims
    left = tuple(axis for axis in range(len(shape)) if axis not in taken)
    # (entries, *left), and the indices of the entries along each axis that is taken from.
    count = math.prod(indices.shape[:-1])
    entries = jnp.moveaxis(cotangent, offset, range(-len(offset), 0)) if offset else cotangent
    entries = entries.reshape(count, *[shape[axis] for axis in left])
    rows = indices.reshape(count, len(dimension_numbers.start_index_map))
    there = jnp.ones((count,) + (1,) * len(taken), bool)
    for column, axis in enumerate(dimension_numbers.start_index_map):
        position = taken.index(axis)
        row = rows[:, column]
        # Smaller integers may not reach the end of the axis.
        row = row.astype(jnp.int32) if row.dtype.itemsize < 4 else row
        if mode == jax.lax.GatherScatterMode.CLIP:
            row = jnp.clip(row, 0, shape[axis] - 1)
        equal = row[:, None] == jnp.arange(shape[axis], dtype=row.dtype)[None]
        around = tuple(i for i in range(1, 1 + len(taken)) if i != 1 + position)
        there = there & jnp.expand_dims(equal, around)
    there = jnp.expand_dims(there, tuple(range(1 + len(taken), 1 + len(shape))))
    entries = jnp.expand_dims(entries, tuple(range(1, 1 + len(taken))))
    summed = jnp.sum(jnp.where(there, entries, jnp.zeros_like(entries)), 0)
    return jnp.moveaxis(summed, range(len(shape)), (*taken, *left))


def _batch(operands, axes, **params):
    (x, indices), (axis, of_indices) = operands, axes
    if of_indices is not None:
        return jax.vmap(lambda x, i: _value(x, i, **params), axes)(x, indices), 0
    # A further axis that is taken whole, the first.
    x = jnp.moveaxis(x, axis, 0)
    numbers = params["dimension_numbers"]
    later = lambda axes: tuple(axis + 1 for axis in axes)
    numbers = numbers._replace(
        offset_dims=(0, *later(numbers.offset_dims)),
        collapsed_slice_dims=later(numbers.collapsed_slice_dims),
        start_index_map=later(numbers.start_index_map),
    )
    sizes = (x.shape[0], *params["slice_sizes"])
    params = {**params, "dimension_numbers": numbers, "slice_sizes": sizes}
    return gathered_p.bind(x, indices, **params), 0


def _register(primitive: Any) -> None:
    primitive.def_impl(lambda *operands, **params: jax.lax.gather(*operands, **params))
    primitive.def_abstract_eval(_shape)
    mlir.register_lowering(primitive, mlir.lower_fun(_value, multiple_results=False))
    batching.primitive_batchers[primitive] = _batch
    ad.primitive_jvps[primitive] = _jvp
    ad.primitive_transposes[primitive] = _transpose


def _trial() -> bool:
    """First and second derivatives of a product of entries, for a batch."""
    index = np.array([0, 2, 2])
    product = with_gathers_summed(lambda x: jnp.sum(x[index] * x[index[::-1]] ** 2))
    plain = lambda x: jnp.sum(x[index] * x[index[::-1]] ** 2)
    x = jnp.arange(6.0).reshape(2, 3)
    good = True
    for of in (jax.grad, lambda f: jax.jacfwd(jax.grad(f))):
        good = good and jnp.allclose(jax.jit(jax.vmap(of(product)))(x), jax.vmap(of(plain))(x))
    return bool(good)


gathered_p = OwnPrimitive(NAME, _register, _trial, COST)
