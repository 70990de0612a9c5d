"""A program run on arrays of numbers instead of arrays."""

import functools
import math
from collections.abc import Sequence
from typing import Any, no_type_check

import jax
import jax.core
import jax.extend
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._control import CONTROL
from ._levels import needed_equations
from ._rules import FUNCTIONS, known, moved, OTHERS, REDUCTIONS, RULES
from ._scalars import aligned, Arithmetic, as_number, Scalar, Scalars


Jaxpr = jax.extend.core.Jaxpr
ClosedJaxpr = jax.extend.core.ClosedJaxpr
Literal = jax.extend.core.Literal


# As its numbers: not checked as it runs.
@no_type_check
class Expansion:
    """Runs programs on numbers.

    - `arithmetic`: of numbers.
    - `lanes`: the shape of the batch; each number that is not known is an array that
        broadcasts to it.
    - `straight`: whether all was written out so far: no loop nor anything else without a rule.
    """

    def __init__(self, arithmetic: Arithmetic, lanes: tuple[int, ...] = ()):
        self.arithmetic, self.lanes = arithmetic, lanes
        self.straight = True

    def run(self, closed: ClosedJaxpr, operands: Sequence[Scalars]) -> list[Scalars]:
        """The results of a program."""
        jaxpr = closed.jaxpr
        values: dict[Any, Scalars] = {}
        values.update(zip(jaxpr.constvars, map(self._constant, closed.consts), strict=True))
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(var) -> Scalars:
            return known(var.val) if isinstance(var, Literal) else values[var]

        for eqn in needed_equations(jaxpr):
            results = self._equation(eqn, [read(var) for var in eqn.invars])
            values.update(zip(eqn.outvars, results, strict=True))
        return [read(var) for var in jaxpr.outvars]

    def _constant(self, value: Any) -> Scalars:
        if isinstance(value, jax.core.Tracer):
            return self.unstack(jnp.reshape(value, (1,) * len(self.lanes) + value.shape))
        return known(value)

    def unstack(self, array: Array) -> Scalars:
        """The numbers of an array whose leading axes are those of the lanes."""
        rank = len(self.lanes)
        shape = array.shape[rank:]
        rows = jnp.reshape(array, (*array.shape[:rank], math.prod(shape)))
        items = [jax.lax.index_in_dim(rows, i, rank, False) for i in range(rows.shape[-1])]
        return Scalars(shape, items)

    def stack(self, scalars: Scalars, dtype: np.dtype) -> Array:
        """The way back."""
        if not scalars.items:
            return jnp.zeros((*self.lanes, *scalars.shape), dtype)
        items = aligned([jnp.zeros(self.lanes, dtype), *scalars.items])[1:]
        stacked = jnp.stack([item.astype(dtype) for item in items], -1)
        return jnp.reshape(stacked, (*self.lanes, *scalars.shape))

    def _equation(self, eqn: Any, operands: list[Scalars]) -> list[Scalars]:
        name, params = eqn.primitive.name, eqn.params
        inner = _inner(eqn)
        if name == "custom_linear_solve":
            operands = _solve_operands(eqn, operands)
        if inner is not None:
            return self.run(inner, operands)
        out = eqn.outvars[0].aval
        if name == "optimization_barrier":
            return operands
        if name in CONTROL:
            return CONTROL[name](self.run, self.lanes, params, operands)
        if name in FUNCTIONS or name in OTHERS:
            return [self._function(eqn, operands)]
        if name in REDUCTIONS:
            return [self._reduction(eqn, operands[0])]
        found = moved(name, params, operands)
        if found is not None:
            return found
        if name in RULES:
            result = RULES[name](self.arithmetic, params, operands, out)
            if result is not None:
                return [result]
        return self._bound(eqn, operands)

    def _function(self, eqn: Any, operands: list[Scalars]) -> Scalars:
        """An elementwise function."""
        shape, dtype = eqn.outvars[0].aval.shape, eqn.outvars[0].aval.dtype
        in_numpy = FUNCTIONS.get(eqn.primitive.name)
        bind = functools.partial(eqn.primitive.bind, **eqn.params)
        key = (eqn.primitive.name, str(eqn.params))

        def apply(*numbers: Scalar) -> Scalar:
            if in_numpy is not None and all(isinstance(x, np.generic) for x in numbers):
                with np.errstate(all="ignore"):
                    return as_number(in_numpy(*numbers), dtype)
            return self.arithmetic.apply(bind, *numbers, key=key)

        spread = [operand.broadcast(shape).items for operand in operands]
        return Scalars(shape, [apply(*column) for column in zip(*spread, strict=True)])

    def _reduction(self, eqn: Any, operand: Scalars) -> Scalars:
        aval, axes = eqn.outvars[0].aval, eqn.params["axes"]
        function, in_numpy, empty = REDUCTIONS[eqn.primitive.name]
        rest = [i for i in range(len(operand.shape)) if i not in axes]
        length = math.prod(operand.shape[i] for i in axes)
        rows = operand.positions.transpose(*rest, *axes).reshape(aval.size, length)

        def pair(a: Scalar, b: Scalar) -> Scalar:
            if isinstance(a, np.generic) and isinstance(b, np.generic):
                return as_number(in_numpy(a, b), aval.dtype)
            return self.arithmetic.apply(function, a, b)

        def fold(row: np.ndarray) -> Scalar:
            if not length:
                return empty(aval.dtype)
            return functools.reduce(pair, [operand.items[i] for i in row])

        return Scalars(aval.shape, [fold(row) for row in rows])

    def _bound(self, eqn: Any, operands: list[Scalars]) -> list[Scalars]:
        """A primitive without a rule, such as a loop, on whole arrays."""
        self.straight = False
        avals = [var.aval for var in eqn.invars]
        arrays = [self.stack(x, aval.dtype) for x, aval in zip(operands, avals, strict=True)]

        def bind(*arrays):
            results = eqn.primitive.bind(*arrays, **eqn.params)
            return results if eqn.primitive.multiple_results else [results]

        for _ in self.lanes:
            bind = jax.vmap(bind)
        return [self.unstack(result) for result in bind(*arrays)]


def _inner(eqn: Any) -> ClosedJaxpr | None:
    """The program that an equation merely calls."""
    name, params = eqn.primitive.name, eqn.params
    if name == "custom_linear_solve":
        return params["jaxprs"].solve
    if name in OWN:
        # Our own primitives: what they compute, traced.
        def value(*operands):
            return eqn.primitive.impl(*operands, **params)

        return jax.make_jaxpr(value)(*(var.aval for var in eqn.invars))
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        program = params.get(key)
        if name in CALLS and isinstance(program, (Jaxpr, ClosedJaxpr)):
            return program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())
    return None


def _solve_operands(eqn: Any, operands: list[Scalars]) -> list[Scalars]:
    """What the solve of a custom linear solve takes: its constants, and the right-hand side."""
    counts = eqn.params["const_lengths"]
    before = counts.matvec + counts.vecmat
    return [*operands[before : before + counts.solve], *operands[sum(counts) :]]


OWN = {"attach_derivative", "later", "mix"}
CALLS = {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "remat2"}
CALLS |= {"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}
