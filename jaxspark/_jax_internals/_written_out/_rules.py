"""What a primitive does to arrays of numbers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .._sparsity._movement import MOVES, scattered
from ._scalars import Arithmetic, as_number, Scalar, Scalars


Operands = Sequence[Scalars]
Rule = Callable[[Arithmetic, dict[str, Any], Operands, Any], Scalars | None]


def _elementwise(name: str) -> Rule:
    def rule(arithmetic, params, operands, out):
        del params
        operation = getattr(arithmetic, name)
        spread = [operand.broadcast(out.shape) for operand in operands]
        columns = zip(*(operand.items for operand in spread), strict=True)
        return Scalars(out.shape, [operation(*column) for column in columns])

    return rule


def _integer_pow(arithmetic, params, operands, out):
    items = [arithmetic.power(item, params["y"]) for item in operands[0].items]
    return Scalars(out.shape, items)


def _square(arithmetic, params, operands, out):
    del params
    return Scalars(out.shape, [arithmetic.mul(item, item) for item in operands[0].items])


def _convert(arithmetic, params, operands, out):
    del params
    dtype = out.dtype

    def convert(item: Scalar) -> Scalar:
        if isinstance(item, np.generic):
            return as_number(item, dtype)
        return (
            item
            if item.dtype == dtype
            else arithmetic.apply(lambda x: x.astype(dtype), item, key=dtype)
        )

    return Scalars(out.shape, [convert(item) for item in operands[0].items])


def _reduce_sum(arithmetic, params, operands, out):
    operand, axes = operands[0], params["axes"]
    rest = [i for i in range(len(operand.shape)) if i not in axes]
    rows = operand.positions.transpose(*rest, *axes).reshape(math.prod(out.shape), -1)
    items = [arithmetic.total((operand.items[i] for i in row), out.dtype) for row in rows]
    return Scalars(out.shape, items)


def _dot_general(arithmetic, params, operands, out):
    (a_sum, b_sum), (a_batch, b_batch) = params["dimension_numbers"]

    def arranged(operand, batch, summed, free_first):
        free = [i for i in range(len(operand.shape)) if i not in (*summed, *batch)]
        order = (*batch, *free, *summed) if free_first else (*batch, *summed, *free)
        lengths = [math.prod(operand.shape[i] for i in axes) for axes in (batch, free, summed)]
        shape = lengths if free_first else [lengths[0], lengths[2], lengths[1]]
        return operand.positions.transpose(order).reshape(shape)

    a, b = operands
    rows = arranged(a, a_batch, a_sum, True)
    columns = arranged(b, b_batch, b_sum, False)
    items = []
    for k in range(rows.shape[0]):
        for row in rows[k]:
            for column in columns[k].T:
                pairs = zip(row, column, strict=True)
                terms = (arithmetic.mul(a.items[i], b.items[j]) for i, j in pairs)
                items.append(arithmetic.total(terms, out.dtype))
    return Scalars(out.shape, items)


def _iota(arithmetic, params, operands, out):
    del arithmetic, operands
    along = np.arange(out.shape[params["dimension"]]).astype(out.dtype)
    shape = [-1 if i == params["dimension"] else 1 for i in range(len(out.shape))]
    return known(np.broadcast_to(along.reshape(shape), out.shape))


def _platform_index(arithmetic, params, operands, out):
    """Of the branch for CPUs: this is where programs are written out."""
    del arithmetic, operands
    fits = [names is None or "cpu" in names for names in params["platforms"]]
    return known(np.asarray(fits.index(True), out.dtype))


def _scatter_add(arithmetic, params, operands, out):
    target, indices, updates = operands
    if indices.known is None:
        return None
    items = list(target.items)
    there = scattered(params, target.shape, updates.shape, indices.known).ravel()
    for place, item in zip(there, updates.items, strict=True):
        if place >= 0:
            items[place] = arithmetic.add(items[place], item)
    return Scalars(out.shape, items)


def _same(arithmetic, params, operands, out):
    del arithmetic, params, out
    return operands[0]


def known(value: Any) -> Scalars:
    """An array whose values are known."""
    value = np.asarray(value)
    return Scalars(value.shape, list(value.ravel()))


RULES: dict[str, Rule] = {
    **{name: _elementwise(name) for name in ("add", "sub", "mul", "div", "neg")},
    "add_any": _elementwise("add"),
    "computed_once": _same,
    "convert_element_type": _convert,
    "copy": _same,
    "dot_general": _dot_general,
    "integer_pow": _integer_pow,
    "iota": _iota,
    "name": _same,
    "platform_index": _platform_index,
    "reduce_sum": _reduce_sum,
    "scatter-add": _scatter_add,
    "select_n": _elementwise("select"),
    "square": _square,
    "stop_gradient": _same,
}

# Elementwise functions whose values NumPy can find where the operands are known.
FUNCTIONS: dict[str, Callable] = {
    "abs": np.abs,
    "acos": np.arccos,
    "and": np.logical_and,
    "asin": np.arcsin,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "cos": np.cos,
    "cosh": np.cosh,
    "eq": np.equal,
    "exp": np.exp,
    "ge": np.greater_equal,
    "gt": np.greater,
    "is_finite": np.isfinite,
    "le": np.less_equal,
    "log": np.log,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "ne": np.not_equal,
    "not": np.logical_not,
    "or": np.logical_or,
    "pow": np.power,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}

# Elementwise functions besides these.
OTHERS = {"acosh", "asinh", "atanh", "cbrt", "ceil", "clamp", "erf", "erfc", "erf_inv", "exp2"}
OTHERS |= {"expm1", "floor", "lgamma", "log1p", "logistic", "nextafter", "rem", "round", "rsqrt"}
OTHERS |= {"digamma", "reduce_precision", "xor"}


def _least(dtype: np.dtype) -> np.generic:
    floating = np.issubdtype(dtype, np.floating)
    return as_number(-np.inf if floating else np.iinfo(dtype).min, dtype)


def _greatest(dtype: np.dtype) -> np.generic:
    floating = np.issubdtype(dtype, np.floating)
    return as_number(np.inf if floating else np.iinfo(dtype).max, dtype)


# Folded with a function of two numbers; its values; what an empty one gives.
REDUCTIONS: dict[str, tuple[Callable, Callable, Callable]] = {
    "reduce_max": (jax.lax.max, np.maximum, _least),
    "reduce_min": (jax.lax.min, np.minimum, _greatest),
    "reduce_and": (jax.lax.bitwise_and, np.logical_and, lambda dtype: np.bool_(True)),
    "reduce_or": (jax.lax.bitwise_or, np.logical_or, lambda dtype: np.bool_(False)),
}


def moved(name: str, params: dict[str, Any], operands: Operands) -> list[Scalars] | None:
    """The results of a primitive that only moves numbers; `None` if it depends on values."""
    if name not in MOVES:
        return None
    pool: list[Scalar] = []
    at = []
    for operand in operands:
        at.append(np.asarray(operand.positions + len(pool)))
        pool.extend(operand.items)
    values = [operand.known for operand in operands]
    results = MOVES[name](params, at, values)
    if results is None or any(np.any(result < 0) for result in results):
        return None
    arrays = [np.asarray(result) for result in results]
    return [Scalars(at.shape, [pool[i] for i in at.ravel()]) for at in arrays]
