"""How a processor is told to run a computation that is written out: as one piece."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._control import arrays_of
from ._expand import ClosedJaxpr, Expansion
from ._levels import as_one_kernel, in_levels, TRANSCENDENTAL, WORTH
from ._scalars import Arithmetic, Scalars, TooLarge


# Larger computations take longer to compile than most runs take.
LIMIT = 10000
# Second derivatives are rarely computed often enough.
LIMIT_OF_SECOND = 1000

# So many lanes are computed side by side, if that is of use, and so many operations.
MANY = 64
SIDE_BY_SIDE = 500


def lowered(
    closed: ClosedJaxpr,
    operands: Sequence[Array],
    sizes: tuple[Any, ...],
    lanes: Sequence[tuple[bool, ...]],
    order: int,
) -> list[Array] | None:
    """The results, computed by one kernel; `None` if the computation is not fit for that.

    XLA on a CPU makes many kernels of a long computation with small arrays, and to call one
    takes as long as a hundred operations. Loops that it thinks small it compiles as
    one piece, calling them by a function so marked; so are these. A batch is a loop over its
    lanes inside: as fast for each as one alone.

    **Arguments:**

    - `closed`: the computation, of one lane.
    - `operands`: with an axis for each level of a batch that they are part of.
    - `sizes`: of the levels; `lanes`: of which levels each operand is part.
    - `order`: that of the derivative which it computes.
    """
    dtype = _dtype(closed)
    # A batch of a size that is not known yet is no loop of known length.
    if dtype is None or not all(isinstance(size, int) for size in sizes):
        return None
    if not sum(aval.size for aval in closed.out_avals) * math.prod(sizes):
        return None
    rows = [
        _row(x, sizes, flags, dtype) for x, flags in zip(operands, lanes, strict=True) if x.size
    ]
    if not rows:
        return None
    packed = jnp.concatenate(rows, 1)
    program = numbers_program(closed, LIMIT if order < 2 else LIMIT_OF_SECOND)
    if program is None:
        return None
    if math.prod(sizes) >= MANY and not _has_transcendental(program.jaxpr):
        if _length(program.jaxpr) > SIDE_BY_SIDE:
            return None
        return _side_by_side(closed, operands, sizes, lanes)
    run = in_levels(program)

    def one(packed: Float[Array, " n"]) -> Float[Array, " m"]:
        # The last depends on the operands even if nothing else does: a compiler that finds all
        # results known leaves the operands out, and cannot call the piece.
        return jnp.stack([*run(*(packed[i] for i in range(packed.shape[0]))), packed[0]])

    def all_lanes(packed: Float[Array, "l n"]) -> Float[Array, "l m"]:
        return jax.lax.map(one, packed) if sizes else one(packed[0])[None]

    (out,) = as_one_kernel(lambda packed: [all_lanes(packed)], packed)
    results, start = [], 0
    for aval in closed.out_avals:
        part = out[:, start : start + aval.size].reshape((*sizes, *aval.shape))
        results.append(part.astype(aval.dtype))
        start += aval.size
    return results


def _side_by_side(
    closed: ClosedJaxpr,
    operands: Sequence[Array],
    sizes: tuple[Any, ...],
    lanes: Sequence[tuple[bool, ...]],
) -> list[Array]:
    """The same by kernels for each number, of all lanes: as fast as vector units are."""
    expansion = Expansion(Arithmetic(LIMIT), sizes)
    inputs = []
    for x, flags in zip(operands, lanes, strict=True):
        core = x.shape[sum(flags) :]
        spread = tuple(size if flag else 1 for size, flag in zip(sizes, flags, strict=True))
        inputs.append(expansion.unstack(jnp.reshape(x, spread + core)))
    results = expansion.run(closed, inputs)
    avals = closed.out_avals
    return [expansion.stack(x, aval.dtype) for x, aval in zip(results, avals, strict=True)]


def _has_transcendental(jaxpr: jax.extend.core.Jaxpr) -> bool:
    """Whether there is a function that no vector unit computes."""
    if any(WORTH.get(eqn.primitive.name, 1) >= TRANSCENDENTAL for eqn in jaxpr.eqns):
        return True
    inner = [j for eqn in jaxpr.eqns for j in jax.extend.core.jaxprs_in_params(eqn.params)]
    return any(map(_has_transcendental, inner))


def _length(jaxpr: jax.extend.core.Jaxpr) -> int:
    """The number of operations, each of those inside loops once."""
    inner = [j for eqn in jaxpr.eqns for j in jax.extend.core.jaxprs_in_params(eqn.params)]
    return len(jaxpr.eqns) + sum(map(_length, inner))


def _row(
    x: Array, sizes: tuple[Any, ...], flags: tuple[bool, ...], dtype: np.dtype
) -> Float[Array, "l n"]:
    """The numbers of an operand, a row for each lane."""
    core = x.shape[sum(flags) :]
    spread = tuple(size if flag else 1 for size, flag in zip(sizes, flags, strict=True))
    length = math.prod(core)
    x = jnp.reshape(x.astype(dtype), (*spread, length))
    return jnp.broadcast_to(x, (*sizes, length)).reshape(math.prod(sizes), length)


def numbers_program(closed: ClosedJaxpr, limit: int = LIMIT) -> ClosedJaxpr | None:
    """The computation as a program of numbers; `None` if it is too large or has no such form.

    All are of one floating-point type; integers among them must be small.
    """
    avals = closed.in_avals
    dtype = _dtype(closed)
    if dtype is None:
        return None
    expansion = Expansion(Arithmetic(limit))

    def of_numbers(*numbers: Array) -> list[Array]:
        operands = []
        for array in arrays_of(numbers, avals):
            place = len(operands)
            items = [x.astype(avals[place].dtype) for x in array.items]
            operands.append(Scalars(array.shape, items))
        results = expansion.run(closed, operands)
        return [jnp.asarray(item).astype(dtype) for result in results for item in result.items]

    length = sum(aval.size for aval in avals)
    if length > limit:
        return None
    try:
        program = jax.make_jaxpr(of_numbers)(*[jax.ShapeDtypeStruct((), dtype)] * length)
    except TooLarge:
        return None
    return program if expansion.straight else None


def _dtype(closed: ClosedJaxpr) -> np.dtype | None:
    """The floating-point type, if there is one, and no other numbers that it does not hold."""
    given = {aval.dtype for aval in closed.in_avals}
    dtypes = given | {aval.dtype for aval in closed.out_avals}
    if any(jnp.issubdtype(dtype, jax.dtypes.extended) for dtype in dtypes):
        return None
    floating = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.floating)}
    if len(floating) != 1:
        return None
    (found,) = floating
    exact = jnp.finfo(found).nmant + 1
    integers = [dtype for dtype in given if jnp.issubdtype(dtype, jnp.integer)]
    return None if any(jnp.iinfo(dtype).bits > exact for dtype in integers) else found
