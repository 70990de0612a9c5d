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
Lanes = tuple[int, ...]


def numbers_of(operands: Sequence[Scalars], avals: Avals, lanes: Lanes = ()) -> list[Array]:
    """All numbers of some arrays, those that are known, too, with an entry for each lane."""
    pairs = zip(operands, avals, strict=True)
    numbers = [jnp.asarray(x, aval.dtype) for operand, aval in pairs for x in operand.items]
    return [x if x.shape == lanes else jnp.broadcast_to(x, lanes) for x in numbers]


def arrays_of(numbers: Sequence[Scalar], avals: Avals) -> list[Scalars]:
    """The way back."""
    arrays, start = [], 0
    for aval in avals:
        arrays.append(Scalars(aval.shape, list(numbers[start : start + aval.size])))
        start += aval.size
    return arrays


def program(
    run: Run, lanes: Lanes, closed: ClosedJaxpr, given: Sequence[Scalars], avals: Avals
) -> Any:
    """A function of the numbers of what is not given; for one lane it is cut into levels.

    - `given`: the first operands; of these, what is known stays known.
    - `avals`: of the others.
    """
    traced = [x for x in given if x.known is None]

    def function(*numbers: Array) -> list[Array]:
        fresh = arrays_of(numbers, [*map(_aval, traced), *avals])
        first = iter(fresh[: len(traced)])
        operands = [next(first) if x.known is None else x for x in given]
        results = run(closed, [*operands, *fresh[len(traced) :]])
        return numbers_of(results, closed.out_avals, lanes)

    constants = [jnp.asarray(item) for x in traced for item in x.items]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in constants]
    shapes += [jax.ShapeDtypeStruct(lanes, aval.dtype) for aval in avals for _ in range(aval.size)]
    traced_program = jax.make_jaxpr(function)(*shapes)
    call = jax.extend.core.jaxpr_as_fun(traced_program) if lanes else in_levels(traced_program)
    return lambda constants, *numbers: call(*constants, *numbers), constants


class _Shape:
    """Of an array of numbers, mixed ones."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype, self.size = shape, dtype, int(np.prod(shape))


def _aval(x: Scalars) -> _Shape:
    return _Shape(x.shape, jnp.asarray(x.items[0]).dtype if x.items else np.dtype(float))


def scan(
    run: Run, lanes: Lanes, params: dict[str, Any], operands: Sequence[Scalars]
) -> list[Scalars]:
    """`jax.lax.scan` with a number in place of each element of an array."""
    closed, length = params["jaxpr"], params["length"]
    consts, carried = params["num_consts"], params["num_carry"]
    given, carry = operands[:consts], operands[consts : consts + carried]
    avals = closed.in_avals
    carry_avals, x_avals = avals[consts : consts + carried], avals[consts + carried :]
    y_avals = closed.out_avals[carried:]
    step, constants = program(run, lanes, closed, given, [*carry_avals, *x_avals])
    count = sum(aval.size for aval in carry_avals)
    tables = _Tables(length, lanes)
    places = [
        tables.add(x, aval) for x, aval in zip(operands[consts + carried :], x_avals, strict=True)
    ]

    def body(carry, rows):
        xs = [rows[which][..., start + i] for which, start, size in places for i in range(size)]
        results = step(constants, *carry, *xs)
        return tuple(results[:count]), _side_by_side(results[count:], y_avals)

    start = tuple(numbers_of(carry, carry_avals, lanes))
    end, ys = jax.lax.scan(body, start, tables.arrays, length=length, reverse=params["reverse"])
    return [*arrays_of(end, carry_avals), *_from_tables(ys, length, y_avals)]


class _Tables:
    """What a loop runs over, in few arrays: to move one is as fast as to move a number."""

    def __init__(self, length: int, lanes: Lanes):
        self.length, self.lanes = length, lanes
        self.arrays: list[Array] = []

    def add(self, x: Scalars, aval: Any) -> tuple[int, int, int]:
        """The number of a table, and the first column and the number of columns of an array."""
        if x.table is None:
            rows = x.positions.reshape(self.length, aval.size).T
            columns = [self._column([x.items[i] for i in row], aval.dtype) for row in rows]
            empty = jnp.zeros((self.length, *self.lanes, 0), aval.dtype)
            self.arrays.append(jnp.stack(columns, -1) if columns else empty)
            return len(self.arrays) - 1, 0, aval.size
        array, start = x.table
        known = [i for i, other in enumerate(self.arrays) if other is array]
        if not known:
            self.arrays.append(array)
        return known[0] if known else len(self.arrays) - 1, start, aval.size

    def _column(self, items: Sequence[Scalar], dtype: np.dtype) -> Array:
        shape = (self.length, *self.lanes)
        if all(isinstance(item, np.generic) for item in items):
            values = np.array(items, dtype).reshape(-1, *[1] * len(self.lanes))
            return jnp.asarray(np.broadcast_to(values, shape))
        return jnp.stack([jnp.broadcast_to(jnp.asarray(item, dtype), self.lanes) for item in items])


def _side_by_side(numbers: Sequence[Array], avals: Avals) -> dict[str, Array]:
    """Numbers of one type in one array.

    - `avals`: of the arrays whose numbers they are.
    """
    names = [str(aval.dtype) for aval in avals for _ in range(aval.size)]
    columns: dict[str, list[Array]] = {}
    for name, number in zip(names, numbers, strict=True):
        columns.setdefault(name, []).append(number)
    return {name: jnp.stack(parts, -1) for name, parts in columns.items()}


def _from_tables(tables: dict[str, Array], length: int, avals: Avals) -> list[Scalars]:
    """The arrays that a loop has put side by side."""
    used = dict.fromkeys(tables, 0)
    arrays = []
    for aval in avals:
        shape = (length, *aval.shape)
        if not aval.size:
            arrays.append(Scalars(shape, []))
            continue
        table, start = tables[str(aval.dtype)], used[str(aval.dtype)]
        items = [table[i, ..., start + j] for i in range(length) for j in range(aval.size)]
        arrays.append(Scalars(shape, items, (table, start)))
        used[str(aval.dtype)] += aval.size
    return arrays


def while_loop(
    run: Run, lanes: Lanes, params: dict[str, Any], operands: Sequence[Scalars]
) -> list[Scalars]:
    """`jax.lax.while_loop` with a number in place of each element of an array.

    With lanes it goes on while any does; those that are done keep what they have.
    """
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["body_nconsts"]
    of_condition, of_body = operands[:first], operands[first : first + second]
    avals = body.in_avals[second:]
    test, for_test = program(run, lanes, condition, of_condition, avals)
    step, for_step = program(run, lanes, body, of_body, avals)

    def going(carry):
        return jnp.any(test(for_test, *carry)[0])

    def trip(carry):
        new = step(for_step, *carry)
        if lanes:
            (on,) = test(for_test, *carry)
            new = [jnp.where(on, a, b) for a, b in zip(new, carry, strict=True)]
        return tuple(new)

    begin = tuple(numbers_of(operands[first + second :], avals, lanes))
    return arrays_of(jax.lax.while_loop(going, trip, begin), avals)


def cond(
    run: Run, lanes: Lanes, params: dict[str, Any], operands: Sequence[Scalars]
) -> list[Scalars]:
    """`jax.lax.cond` or `switch` with a number in place of each element of an array.

    With lanes all branches are computed.
    """
    branches, which = params["branches"], operands[0].items[0]
    if isinstance(which, np.generic):
        return run(branches[int(which)], operands[1:])
    avals = branches[0].in_avals
    numbers = numbers_of(operands[1:], avals, lanes)
    functions = [program(run, lanes, branch, [], avals)[0] for branch in branches]
    index = jnp.asarray(which)
    index = index.astype(jnp.int32) if index.dtype == bool else index
    if lanes:
        index = jnp.broadcast_to(index, lanes)
        cases = zip(*(f([], *numbers) for f in functions), strict=True)
        chosen = [_chosen(index, case) for case in cases]
    else:
        calls = [lambda *numbers, f=f: tuple(f([], *numbers)) for f in functions]
        chosen = jax.lax.switch(index, calls, *numbers)
    return arrays_of(chosen, branches[0].out_avals)


def _chosen(index: Array, cases: Sequence[Array]) -> Array:
    """One of several numbers, lane by lane; the last beyond their end, as `switch` has it."""
    result = cases[-1]
    for i, case in enumerate(cases[:-1]):
        result = jnp.where(index == i if i else index <= 0, case, result)
    return result


CONTROL = {"scan": scan, "while": while_loop, "cond": cond}
