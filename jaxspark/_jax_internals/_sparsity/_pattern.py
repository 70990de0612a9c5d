"""Which outputs of a function depend on which inputs, found without evaluating it.

Source: A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008, chapter 7:
sets of indices are propagated along with the derivatives.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from .._understood import guarded
from ._dependence import each_its_own, Fact, Sets
from ._reader import COST, Reader, UNKNOWN


class JacobianPattern(NamedTuple):
    """Where a Jacobian can be nonzero.

    - `entries`: a matrix of booleans; too many where something was not understood.
    - `understood`: whether all was.
    """

    entries: "scipy.sparse.csr_matrix"
    understood: bool


def jacobian_pattern(
    function: Callable[..., Any], *operands: Any, argnum: int = 0
) -> JacobianPattern:
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

    **Returns:** the entries, a matrix of booleans, sorted: a row for each output, a column for each
    element of the operand; and whether all of the program was understood.
    """

    def tangent(direction, *operands):
        def on_one(x):
            return function(*operands[:argnum], x, *operands[argnum + 1 :])

        return jax.jvp(on_one, (operands[argnum],), (direction,))[1]

    shaped = jax.ShapeDtypeStruct(jnp.shape(operands[argnum]), operands[argnum].dtype)
    closed = jax.make_jaxpr(tangent)(shaped, *operands)
    out: Any = closed.out_avals[0]
    shape = (math.prod(out.shape), shaped.size)

    def read() -> JacobianPattern:
        reader = Reader()
        start = Fact(each_its_own(shaped.size))
        facts = [start] + [UNKNOWN] * (len(closed.in_avals) - 1)
        sets = reader.run(closed, facts)[0].sets
        if sets is None:
            return JacobianPattern(scipy.sparse.csr_matrix(shape, dtype=bool), reader.understood)
        entries = np.ones(len(sets.indices), bool)
        matrix = scipy.sparse.csr_matrix((entries, sets.indices, sets.indptr), shape)
        return JacobianPattern(matrix, reader.understood)

    def full() -> JacobianPattern:
        return JacobianPattern(scipy.sparse.csr_matrix(np.ones(shape, bool)), False)

    return guarded("Reading the structure of a Jacobian", COST, read, full)


def depends_on(
    function: Callable[..., Any],
    *operands: Any,
    which: tuple[int, ...],
    cost: str = "It is taken to depend on them.",
) -> bool:
    """Whether the value of a function may depend on some of its operands.

    A product with a known zero does not. What is not understood depends on all that it is given.

    **Arguments:**

    - `function`: of PyTrees of arrays, that returns one; `operands`: its arguments, of which
        shapes and dtypes matter.
    - `which`: the numbers of the operands in question.
    - `cost`: what it costs to say that it does, a sentence for a warning.
    """
    closed = jax.make_jaxpr(function)(*operands)

    def read() -> bool:
        facts = []
        for i, operand in enumerate(operands):
            for leaf in jax.tree.leaves(operand):
                size = jnp.size(leaf)
                # One input for all: on which of its elements something depends does not matter.
                each = Fact(Sets(np.arange(size + 1), np.zeros(size, int), 1))
                facts.append(each if i in which and size else UNKNOWN)
        return any(fact.sets is not None for fact in Reader(cost).run(closed, facts))

    return guarded("Reading what a function depends on", cost, read, lambda: True)
