"""Which outputs of a function depend on which inputs, found without evaluating it.

Source: A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008, chapter 7:
sets of indices are propagated along with the derivatives.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core
import jax.extend
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from ._dependence import (
    can_be_nonzero,
    combine,
    each_its_own,
    everything,
    Fact,
    numbered,
    Operand,
    RULES,
    Sets,
    take,
)
from ._loops import CONTROL
from ._movement import MOVES


Jaxpr = jax.extend.core.Jaxpr
ClosedJaxpr = jax.extend.core.ClosedJaxpr

UNKNOWN = Fact()
CALLS = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "composite": "jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
}


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounded towards zero."""
    divisor = np.where(b == 0, np.ones_like(b), b)
    result = np.abs(a) // np.abs(divisor) * np.sign(a) * np.sign(divisor)
    return np.where(b == 0, np.invert(np.zeros_like(b)), result)


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, np.ones_like(b), b)))


ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "div": _quotient,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "not": np.invert,
    "or": np.bitwise_or,
    "rem": _remainder,
    "sub": np.subtract,
    "sign": np.sign,
    "xor": np.bitwise_xor,
}


def jacobian_pattern(
    function: Callable[..., Any], *operands: Any, argnum: int = 0
) -> scipy.sparse.csr_matrix:
    """Where the Jacobian of a function of vectors can be nonzero, whatever the values.

    The function is traced together with its forward derivative, and the dependence on the
    tangent is followed: rules of `custom_jvp` count, and primitives whose derivative is zero do
    not. All outputs of a primitive that is not known depend on all of its inputs, so that the
    pattern may be too large, but is never too small. Gathers and scatters are exact where their
    indices are known, that is, are not traced; and so are products with arrays that are known
    to have zeros. To find a pattern that serves for all values of a parameter, trace it.

    **Arguments:**

    - `function`: of `operands`, that returns an array.
    - `operands`: arrays, tracers or `jax.ShapeDtypeStruct`s; only shapes and dtypes matter.
    - `argnum`: the operand to differentiate with respect to.

    **Returns:** a matrix of booleans, sorted: a row for each output, a column for each element
    of the operand.
    """

    def tangent(direction, *operands):
        def on_one(x):
            return function(*operands[:argnum], x, *operands[argnum + 1 :])

        return jax.jvp(on_one, (operands[argnum],), (direction,))[1]

    shaped = jax.ShapeDtypeStruct(jnp.shape(operands[argnum]), operands[argnum].dtype)
    closed = jax.make_jaxpr(tangent)(shaped, *operands)
    start = Fact(each_its_own(shaped.size))
    facts = [start] + [UNKNOWN] * (len(closed.jaxpr.invars) - 1)
    result = _run(closed, facts)[0].sets
    shape = (int(np.prod(closed.out_avals[0].shape, dtype=int)), shaped.size)
    if result is None:
        return scipy.sparse.csr_matrix(shape, dtype=bool)
    entries = np.ones(len(result.indices), bool)
    return scipy.sparse.csr_matrix((entries, result.indices, result.indptr), shape)


def _discrete(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, np.integer) or jnp.issubdtype(dtype, np.bool_)


def _constant(value: Any) -> Fact:
    if isinstance(value, jax.core.Tracer) or not hasattr(value, "dtype"):
        return UNKNOWN
    if _discrete(value.dtype):
        return Fact(value=np.asarray(value))
    if jnp.issubdtype(value.dtype, np.inexact):
        return _zeros(np.asarray(np.asarray(value) != 0))
    return UNKNOWN


def _zeros(nonzero: np.ndarray | None) -> Fact:
    return UNKNOWN if nonzero is None or np.all(nonzero) else Fact(nonzero=nonzero)


def _run(jaxpr: Jaxpr | ClosedJaxpr, facts: Sequence[Fact]) -> list[Fact]:
    """What is known of the results, given what is known of the arguments."""
    consts: Sequence[Any] = ()
    if isinstance(jaxpr, ClosedJaxpr):
        jaxpr, consts = jaxpr.jaxpr, jaxpr.consts
    known = dict(zip(jaxpr.constvars, map(_constant, consts), strict=False))
    known.update(zip(jaxpr.invars, facts, strict=True))

    def read(var):
        if isinstance(var, jax.extend.core.Literal):
            return _constant(np.asarray(var.val, getattr(var.aval, "dtype", None)))
        return known.get(var, UNKNOWN)

    for eqn in jaxpr.eqns:
        operands = [Operand(getattr(var.aval, "shape", ()), read(var)) for var in eqn.invars]
        known.update(zip(eqn.outvars, _equation(eqn, operands), strict=True))
    return [read(var) for var in jaxpr.outvars]


def _equation(eqn: Any, operands: list[Operand]) -> list[Fact]:
    name, facts = eqn.primitive.name, [operand.fact for operand in operands]
    if name == "iota":
        return [Fact(value=_iota(eqn.params))]
    if name in CALLS and CALLS[name] in eqn.params:
        return _run(eqn.params[CALLS[name]], facts)
    if all(part is None for fact in facts for part in fact):
        return [UNKNOWN] * len(eqn.outvars)
    if name == "optimization_barrier":
        return facts
    if any(fact.sets is not None for fact in facts):
        if name in CONTROL:
            return CONTROL[name](eqn, operands, _run)
        return _dependence(eqn, operands)
    return _values(eqn, operands)


def _iota(params: dict) -> np.ndarray:
    shape, axis = params["shape"], params["dimension"]
    along = [length if i == axis else 1 for i, length in enumerate(shape)]
    counted = np.arange(shape[axis]).astype(params["dtype"]).reshape(along)
    return np.broadcast_to(counted, shape)


def _positions(operands: list[Operand]) -> tuple[list[np.ndarray], np.ndarray]:
    """The elements of all operands, numbered consecutively, and where each begins."""
    ends = np.cumsum([0] + [int(np.prod(operand.shape, dtype=int)) for operand in operands])
    starts = zip(operands, ends[:-1], strict=True)
    return [np.asarray(numbered(operand.shape) + start) for operand, start in starts], ends


def _values(eqn: Any, operands: list[Operand]) -> list[Fact]:
    """Integer arithmetic, and where floats are zero."""
    name, params = eqn.primitive.name, eqn.params
    if name == "convert_element_type":
        value, new = operands[0].fact.value, params["new_dtype"]
        if value is not None and _discrete(new):
            return [Fact(value=value.astype(new))]
        return [_zeros(operands[0].nonzero)]
    if name in MOVES:
        at, ends = _positions(operands)
        moved = MOVES[name](params, at, [operand.fact.value for operand in operands])
        if moved is not None:
            dtype = eqn.outvars[0].aval.dtype
            return [_moved_value(there, dtype, operands, ends) for there in moved]
    discrete = [operand.fact.value for operand in operands if operand.fact.value is not None]
    if name in ARITHMETIC and len(discrete) == len(operands):
        with np.errstate(all="ignore"):
            result = ARITHMETIC[name](*discrete)
        return [Fact(value=np.broadcast_to(result, eqn.outvars[0].aval.shape))]
    return [_zeros(can_be_nonzero(name, params, operands, out)) for out in eqn.outvars]


def _moved_value(there: np.ndarray, dtype: Any, operands: list[Operand], ends: np.ndarray) -> Fact:
    wanted = np.zeros(ends[-1], bool)
    wanted[there[there >= 0]] = True
    values, masks, known = [], [], bool(np.all(there >= 0))
    for operand, first, last in zip(operands, ends[:-1], ends[1:], strict=True):
        value, nonzero = operand.fact.value, operand.nonzero
        known &= value is not None or not np.any(wanted[first:last])
        values.append(np.zeros(last - first, bool) if value is None else value.ravel())
        masks.append(np.ones(last - first, bool) if nonzero is None else nonzero.ravel())
    if known and _discrete(dtype):
        together = np.concatenate([value.astype(dtype) for value in values])
        return Fact(value=np.asarray(together[there]))
    # What is filled in where nothing is gathered counts as nonzero.
    return _zeros(np.asarray(np.append(np.concatenate(masks), True)[there]))


def _dependence(eqn: Any, operands: list[Operand]) -> list[Fact]:
    """The sets of the results of a primitive, some of whose operands have sets."""
    name, sizes = eqn.primitive.name, [out.aval.size for out in eqn.outvars]
    values = [operand.fact.value for operand in operands]
    if name in MOVES:
        at, ends = _positions(operands)
        moved = MOVES[name](eqn.params, at, values)
        if moved is not None:
            return [Fact(_moved(there.ravel(), operands, ends)) for there in moved]
    if name in ("gather", "dynamic_slice") and operands[0].fact.sets is not None:
        return [Fact(_from_anywhere(eqn, operands))]
    if name in RULES:
        pairs = RULES[name](eqn.params, operands, tuple(eqn.outvars[0].aval.shape))
        if pairs is not None:
            parts = []
            for operand, pair in zip(operands, pairs, strict=True):
                if operand.fact.sets is not None:
                    parts.append((operand.fact.sets, *pair))
            return [Fact(combine(sizes[0], parts))]
    return [Fact(everything(size, operands)) for size in sizes]


def _moved(there: np.ndarray, operands: list[Operand], ends: np.ndarray) -> Sets | None:
    parts = []
    for operand, first, last in zip(operands, ends[:-1], ends[1:], strict=True):
        sets = operand.fact.sets
        if sets is not None:
            inside = (there >= first) & (there < last)
            if np.all(inside):
                return take(sets, there - first)
            parts.append((sets, np.flatnonzero(inside), there[inside] - first))
    return combine(len(there), parts)


def _from_anywhere(eqn: Any, operands: list[Operand]) -> Sets | None:
    """A gather or slice that may begin anywhere: exact along the axes that it takes whole."""
    source, *others = operands
    if source.fact.sets is None or any(other.fact.sets is not None for other in others):
        return everything(eqn.outvars[0].aval.size, operands)
    at = numbered(source.shape)
    partial = [n > size for n, size in zip(source.shape, eqn.params["slice_sizes"], strict=True)]
    if eqn.primitive.name == "gather":
        batched = eqn.params["dimension_numbers"].operand_batching_dims
        partial = [part and axis not in batched for axis, part in enumerate(partial)]
    first = at[tuple(slice(0, 1) if part else slice(None) for part in partial)]
    first = np.broadcast_to(first, at.shape)
    joined = combine(at.size, [(source.fact.sets, first.ravel(), at.ravel())])
    begin = [None, *(np.zeros(other.shape, int) for other in others)]
    there = MOVES[eqn.primitive.name](eqn.params, [first], begin)
    return None if joined is None or there is None else take(joined, there[0].ravel())
