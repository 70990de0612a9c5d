"""A function as one primitive, which compilers see written out."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.core
import jax.extend
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from .._understood import guarded
from . import COST
from ._expand import ClosedJaxpr
from ._lower import lowered


T = TypeVar("T")

written_out_p = Primitive("written_out")
written_out_p.multiple_results = True


def bind(function: Callable[..., T], *operands: Any) -> T:
    """`function(*operands)` as one primitive."""
    arrays, known = eqx.partition(operands, lambda x: isinstance(x, jax.Array))
    leaves, structure = jax.tree.flatten(arrays)
    # The same array in several places is one operand.
    different = list({id(leaf): leaf for leaf in leaves}.values())
    numbers = {id(leaf): i for i, leaf in enumerate(different)}
    places = [numbers[id(leaf)] for leaf in leaves]

    def on_leaves(*different):
        arrays = jax.tree.unflatten(structure, [different[i] for i in places])
        return function(*eqx.combine(arrays, known))

    closed, shape = jax.make_jaxpr(on_leaves, return_shape=True)(*different)
    closed, leaves = _opened(closed, different)
    outputs = _bind(closed, leaves, (), ((),) * len(leaves), 0)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def _opened(closed: ClosedJaxpr, leaves: list[Array]) -> tuple[ClosedJaxpr, list[Array]]:
    """The program with what it closes over and is traced among its operands."""
    moving = [i for i, x in enumerate(closed.consts) if isinstance(x, jax.core.Tracer)]
    if not moving:
        return closed, leaves
    values = [closed.consts[i] for i in moving]

    def with_values(*operands):
        consts = list(closed.consts)
        for i, value in zip(moving, operands, strict=False):
            consts[i] = value
        return _call(ClosedJaxpr(closed.jaxpr, consts), operands[len(moving) :])

    return jax.make_jaxpr(with_values)(*values, *leaves), [*values, *leaves]


def _call(closed: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    return jax.extend.core.jaxpr_as_fun(closed)(*operands)


def _bind(
    closed: ClosedJaxpr,
    operands: Sequence[Any],
    sizes: tuple[Any, ...],
    lanes: Any,
    order: int,
) -> list[Any]:
    """The primitive; `order` is that of the derivative which the program computes."""
    return written_out_p.bind(*operands, closed=closed, sizes=sizes, lanes=lanes, order=order)


def _batched(closed: ClosedJaxpr, lanes: Any) -> Callable[..., list[Array]]:
    """The function of arrays with lanes, by `jax.vmap`, level by level."""

    def function(*operands):
        return _call(closed, operands)

    for level in reversed(range(len(lanes[0]) if lanes else 0)):
        function = jax.vmap(function, tuple(0 if flags[level] else None for flags in lanes))
    return function


def _plain(*operands, closed, sizes, lanes, order):
    """What the primitive computes."""
    del sizes, order
    return _batched(closed, lanes)(*operands)


def _on_cpu(*operands, closed, sizes, lanes, order):
    what = "Writing out small computations"
    results = guarded(
        what, COST, lambda: lowered(closed, operands, sizes, lanes, order), lambda: None
    )
    if results is None:
        return _plain(*operands, closed=closed, sizes=sizes, lanes=lanes, order=order)
    return results


def _abstract(*operands, closed, sizes, lanes, order):
    del operands, lanes, order
    return [aval.update(shape=(*sizes, *aval.shape)) for aval in closed.out_avals]


def _zero(x: Any) -> Any:
    return ad.Zero.from_primal_value(x)  # pyright: ignore[reportAttributeAccessIssue]


def _floating(aval) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.inexact)


def _jvp(primals, tangents, *, closed, sizes, lanes, order):
    outputs = _bind(closed, primals, sizes, lanes, order)
    moving = [i for i, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]
    floating = [_floating(aval) for aval in closed.out_avals]

    def tangent(*operands):
        primals, directions = operands[: len(closed.in_avals)], operands[len(closed.in_avals) :]

        def along(*values):
            changed = list(primals)
            for i, value in zip(moving, values, strict=True):
                changed[i] = value
            results = _call(closed, changed)
            return [x for x, kept in zip(results, floating, strict=True) if kept]

        return jax.jvp(along, tuple(primals[i] for i in moving), directions)[1]

    avals = closed.in_avals
    program = jax.make_jaxpr(tangent)(*avals, *(avals[i] for i in moving))
    operands = [*primals, *(tangents[i] for i in moving)]
    flags = (*lanes, *(lanes[i] for i in moving))
    changes = iter(_bind(program, operands, sizes, flags, order + 1))
    return outputs, [
        next(changes) if kept else _zero(x) for x, kept in zip(outputs, floating, strict=True)
    ]


def _transpose(cotangents, *operands, closed, sizes, lanes, order):
    linear = [i for i, x in enumerate(operands) if ad.is_undefined_primal(x)]
    given = [i for i in range(len(operands)) if i not in linear]
    there = [i for i, ct in enumerate(cotangents) if type(ct) is not ad.Zero]
    avals = closed.in_avals

    def backward(*values):
        known, cts = values[: len(given)], values[len(given) :]
        full = [jnp.zeros(aval.shape, aval.dtype) for aval in closed.out_avals]
        for i, ct in zip(there, cts, strict=True):
            full[i] = ct

        def forward(*directions):
            arguments: list[Any] = [None] * len(operands)
            for i, value in zip((*given, *linear), (*known, *directions), strict=True):
                arguments[i] = value
            return _call(closed, arguments)

        # The transpose of a linear function is its derivative's: `jax.linear_transpose` cannot
        # take loops apart in which only a part is linear.
        zeros = [jnp.zeros(avals[i].shape, avals[i].dtype) for i in linear]
        try:
            return jax.vjp(forward, *zeros)[1](full)
        except NotImplementedError:
            # Rules of a user's own for the reverse mode have no derivative.
            return jax.linear_transpose(forward, *zeros)(full)

    program = jax.make_jaxpr(backward)(
        *(avals[i] for i in given), *(closed.out_avals[i] for i in there)
    )
    everywhere = (True,) * len(sizes)
    flags = (*(lanes[i] for i in given), *(everywhere for _ in there))
    values = [*(operands[i] for i in given), *(cotangents[i] for i in there)]
    results: list[Any] = [None] * len(operands)
    for i, ct in zip(linear, _bind(program, values, sizes, flags, order), strict=True):
        # What all lanes share takes the sum of what they give it.
        shared = tuple(axis for axis, flag in enumerate(lanes[i]) if not flag)
        results[i] = jnp.sum(ct, shared) if shared else ct
    return results


def _batch(operands, axes, *, closed, sizes, lanes, order):
    size = next(x.shape[a] for x, a in zip(operands, axes, strict=True) if a is not None)
    moved = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(operands, axes, strict=True)]
    flags = tuple((a is not None, *rest) for a, rest in zip(axes, lanes, strict=True))
    outputs = _bind(closed, moved, (size, *sizes), flags, order)
    return outputs, [0] * len(outputs)


written_out_p.def_impl(_plain)
written_out_p.def_abstract_eval(_abstract)
# On other devices one kernel for a whole array is as good as one for each number.
mlir.register_lowering(written_out_p, mlir.lower_fun(_plain, multiple_results=True))
mlir.register_lowering(
    written_out_p, mlir.lower_fun(_on_cpu, multiple_results=True), platform="cpu"
)
ad.primitive_jvps[written_out_p] = _jvp
ad.primitive_transposes[written_out_p] = _transpose
batching.primitive_batchers[written_out_p] = _batch
