"""Loops and branches of programs of numbers, as loops and branches of numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._levels import in_levels
from ._scalars import Scalar, Scalars


ClosedJaxpr = jax.extend.core.ClosedJaxpr
Avals = Sequence[Any]
# Runs a program: on scalars, giving scalars.
Run = Callable[[ClosedJaxpr, Sequence[Scalars]], list[Scalars]]


def numbers_of(operands: Sequence[Scalars], avals: Avals) -> list[Array]:
    """All numbers of some arrays, those that are known, too."""
    pairs = zip(operands, avals, strict=True)
    return [jnp.asarray(item, aval.dtype) for operand, aval in pairs for item in operand.items]


def arrays_of(numbers: Sequence[Scalar], avals: Avals) -> list[Scalars]:
    """The way back."""
    arrays, start = [], 0
    for aval in avals:
        arrays.append(Scalars(aval.shape, list(numbers[start : start + aval.size])))
        start += aval.size
    return arrays


def program(run: Run, closed: ClosedJaxpr, given: Sequence[Scalars], avals: Avals) -> Any:
    """A function of the numbers of what is not given, cut into levels.

    - `given`: the first operands; of these, what is known stays known.
    - `avals`: of the others.
    """
    traced = [x for x in given if x.known is None]

    def function(*numbers: Array) -> list[Array]:
        fresh = arrays_of(numbers, [*map(_aval, traced), *avals])
        first = iter(fresh[: len(traced)])
        operands = [next(first) if x.known is None else x for x in given]
        return numbers_of(run(closed, [*operands, *fresh[len(traced) :]]), closed.out_avals)

    own = [item for x in traced for item in x.items]
    shapes = [jax.ShapeDtypeStruct((), jnp.asarray(item).dtype) for item in own]
    shapes += [jax.ShapeDtypeStruct((), aval.dtype) for aval in avals for _ in range(aval.size)]
    levels = in_levels(jax.make_jaxpr(function)(*shapes))
    constants = [jnp.asarray(item) for item in own]
    return lambda constants, *numbers: levels(*constants, *numbers), constants


class _Shape:
    """Of an array of numbers, mixed ones."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype, self.size = shape, dtype, int(np.prod(shape))


def _aval(x: Scalars) -> _Shape:
    return _Shape(x.shape, jnp.asarray(x.items[0]).dtype if x.items else np.dtype(float))


def scan(run: Run, params: dict[str, Any], operands: Sequence[Scalars]) -> list[Scalars]:
    """`jax.lax.scan` with a number in place of each element of an array."""
    closed, length = params["jaxpr"], params["length"]
    consts, carried = params["num_consts"], params["num_carry"]
    given, carry = operands[:consts], operands[consts : consts + carried]
    avals = closed.in_avals
    carry_avals, x_avals = avals[consts : consts + carried], avals[consts + carried :]
    out_avals = closed.out_avals[carried:]
    step, constants = program(run, closed, given, [*carry_avals, *x_avals])
    count = sum(aval.size for aval in carry_avals)

    def body(carry, xs):
        results = step(constants, *carry, *xs)
        return tuple(results[:count]), tuple(results[count:])

    start = tuple(numbers_of(carry, carry_avals))
    columns = []
    for x, aval in zip(operands[consts + carried :], x_avals, strict=True):
        rows = x.positions.reshape(length, aval.size).T
        columns += [_column([x.items[i] for i in row], aval.dtype) for row in rows]
    end, ys = jax.lax.scan(
        body, start, tuple(columns), length=length, reverse=params["reverse"]
    )
    results = arrays_of(end, carry_avals)
    place = 0
    for aval in out_avals:
        part = ys[place : place + aval.size]
        items = [column[i] for i in range(length) for column in part]
        results.append(Scalars((length, *aval.shape), items))
        place += aval.size
    return results


def _column(items: Sequence[Scalar], dtype: np.dtype) -> Array:
    if all(isinstance(item, np.generic) for item in items):
        return jnp.asarray(np.array(items, dtype))
    return jnp.stack([jnp.asarray(item, dtype) for item in items])


def while_loop(run: Run, params: dict[str, Any], operands: Sequence[Scalars]) -> list[Scalars]:
    """`jax.lax.while_loop` with a number in place of each element of an array."""
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["body_nconsts"]
    of_condition, of_body = operands[:first], operands[first : first + second]
    avals = body.in_avals[second:]
    test, for_test = program(run, condition, of_condition, avals)
    step, for_step = program(run, body, of_body, avals)
    end = jax.lax.while_loop(
        lambda carry: test(for_test, *carry)[0],
        lambda carry: tuple(step(for_step, *carry)),
        tuple(numbers_of(operands[first + second :], avals)),
    )
    return arrays_of(end, avals)


def cond(run: Run, params: dict[str, Any], operands: Sequence[Scalars]) -> list[Scalars]:
    """`jax.lax.cond` or `switch` with a number in place of each element of an array."""
    branches, which = params["branches"], operands[0].items[0]
    if isinstance(which, np.generic):
        return run(branches[int(which)], operands[1:])
    avals = branches[0].in_avals
    numbers = numbers_of(operands[1:], avals)
    functions = [program(run, branch, [], avals)[0] for branch in branches]
    calls = [lambda *numbers, f=f: tuple(f([], *numbers)) for f in functions]
    index = jnp.asarray(which)
    index = index.astype(jnp.int32) if index.dtype == bool else index
    return arrays_of(jax.lax.switch(index, calls, *numbers), branches[0].out_avals)


CONTROL = {"scan": scan, "while": while_loop, "cond": cond}
