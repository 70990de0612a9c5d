"""What is known of the results of a program, given what is known of its arguments.

Source: A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008, chapter 7:
sets of indices are propagated along with the derivatives.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np

from .._understood import not_understood
from ._control import CONTROL
from ._dependence import (
    can_be_nonzero,
    combine,
    everything,
    Fact,
    numbered,
    ODD,
    Operand,
    RULES,
    Sets,
    take,
)
from ._movement import MOVES
from ._names import WITHOUT_RULE
from ._programs import is_literal, name_of, parameters_of, taken_apart


UNKNOWN = Fact()
COST = (
    "What depends on it is taken to depend on all that it depends on: Jacobians may be taken for "
    "less sparse than they are."
)
CALLS = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "composite": "jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
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


class Reader:
    """Follows facts through programs.

    - `understood`: whether all was understood so far; what was not may depend on everything that
        goes into it.
    - `cost`: of that, a sentence for the warning.
    """

    def __init__(self, cost: str = COST) -> None:
        self.understood, self._cost = True, cost

    def run(self, program: Any, facts: Sequence[Fact]) -> list[Fact]:
        """What is known of the results, given what is known of the arguments."""
        jaxpr, consts = taken_apart(program)
        known = dict(zip(jaxpr.constvars, map(_constant, consts), strict=False))
        known.update(zip(jaxpr.invars, facts, strict=True))

        def read(var):
            if is_literal(var):
                return _constant(np.asarray(var.val, getattr(var.aval, "dtype", None)))
            return known.get(var, UNKNOWN)

        for eqn in jaxpr.eqns:
            operands = [Operand(getattr(var.aval, "shape", ()), read(var)) for var in eqn.invars]
            known.update(zip(eqn.outvars, self._guarded(eqn, operands), strict=True))
        return [read(var) for var in jaxpr.outvars]

    def _guarded(self, eqn: Any, operands: list[Operand]) -> list[Fact]:
        """What is known of the results of a primitive, even if it is not understood."""
        name = name_of(eqn)
        blank = all(part is None for operand in operands for part in operand.fact)
        if name not in KNOWN and (operands == [] or not blank):
            self._miss(f"There is no rule for the primitive {name!r} of JAX")
        try:
            found = self._equation(name, eqn, operands, blank)
            if len(found) == len(eqn.outvars):
                return found
            self._miss(f"The rule for the primitive {name!r} of JAX expects other results")
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            self._miss(f"The rule for the primitive {name!r} of JAX failed with {message}")
        return [Fact(everything(math.prod(out.aval.shape), operands)) for out in eqn.outvars]

    def _miss(self, what: str) -> None:
        self.understood = False
        not_understood(what, self._cost)

    def _equation(self, name: str, eqn: Any, operands: list[Operand], blank: bool) -> list[Fact]:
        params, facts = parameters_of(eqn), [operand.fact for operand in operands]
        if name == "iota":
            return [Fact(value=_iota(params))]
        if name in CALLS:
            return self.run(params[CALLS[name]], facts)
        if blank:
            return [UNKNOWN] * len(eqn.outvars)
        if name == "optimization_barrier":
            return facts
        if any(fact.sets is not None for fact in facts):
            if name in CONTROL:
                return CONTROL[name](eqn, operands, self.run)
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
    name, params = name_of(eqn), parameters_of(eqn)
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
    name, sizes = name_of(eqn), [out.aval.size for out in eqn.outvars]
    values = [operand.fact.value for operand in operands]
    if name in MOVES:
        at, ends = _positions(operands)
        moved = MOVES[name](parameters_of(eqn), at, values)
        if moved is not None:
            return [Fact(_moved(there.ravel(), operands, ends)) for there in moved]
    if name in ("gather", "dynamic_slice") and operands[0].fact.sets is not None:
        return [Fact(_from_anywhere(eqn, operands))]
    if name in RULES:
        pairs = RULES[name](parameters_of(eqn), operands, tuple(eqn.outvars[0].aval.shape))
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
    partial = [
        n > size for n, size in zip(source.shape, parameters_of(eqn)["slice_sizes"], strict=True)
    ]
    if name_of(eqn) == "gather":
        batched = parameters_of(eqn)["dimension_numbers"].operand_batching_dims
        partial = [part and axis not in batched for axis, part in enumerate(partial)]
    first = at[tuple(slice(0, 1) if part else slice(None) for part in partial)]
    first = np.broadcast_to(first, at.shape)
    joined = combine(at.size, [(source.fact.sets, first.ravel(), at.ravel())])
    begin = [None, *(np.zeros(other.shape, int) for other in others)]
    there = MOVES[name_of(eqn)](parameters_of(eqn), [first], begin)
    return None if joined is None or there is None else take(joined, there[0].ravel())


# The primitives that are read, or deliberately not.
KNOWN = {"iota", "optimization_barrier", "gather", "dynamic_slice"} | WITHOUT_RULE
KNOWN |= set(CALLS) | set(CONTROL) | set(MOVES) | set(RULES) | set(ARITHMETIC) | ODD
