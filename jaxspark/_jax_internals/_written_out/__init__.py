"""Small computations written out number by number, without those that are known to be zero.

Only below JAX 0.11, which names the parts of programs otherwise; from 0.12 on XLA makes as few
kernels of ordinary array code.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from .._switch import allowed
from .._understood import guarded


T = TypeVar("T")

# The first release of whose programs the parts have other names.
PLAIN_FROM = (0, 11)
COST = "Steps of small systems are ordinary array code: up to ten times slower on a CPU."


def writes_out() -> bool:
    """Whether small computations are written out, and should have no loops."""
    return allowed() and jax.__version_info__ < PLAIN_FROM


def written_out(function: Callable[..., T], *operands: Any) -> T:
    """`function(*operands)`, on CPUs and below JAX 0.11 compiled number by number.

    Small arrays are taken apart into numbers, and what is known of these when the function is
    traced is made use of: nothing is multiplied by a zero of a sparse matrix, nor added to
    it. Of a system with a few unknowns a compiler makes one piece of straight code, ten times
    as fast as one of kernels for small arrays, and compiles it sooner. Loops and branches inside
    are written out, too. A batch is a loop over its lanes, each with trips of its own; with many
    lanes, and without functions such as sines, the lanes of each number lie side by side, as
    vector units want it. What is too large, or has a part without a rule, is left as it is, and
    so are long derivatives of second order, and everything on other platforms than CPUs.

    Derivatives are those of the function, written out in turn: nothing inside is kept for a
    backward pass but the operands.

    **Arguments:**

    - `function`: a pure function of PyTrees of arrays.
    - `operands`: its arguments.

    **Returns:** what it returns, a PyTree of arrays.
    """
    if not writes_out():
        return function(*operands)
    bind = guarded("Writing out small computations", COST, _bind, lambda: None)
    return function(*operands) if bind is None else bind(function, *operands)


def _bind() -> Callable[..., Any]:
    from .._primitive import lacking
    from ._primitive import bind

    if (error := lacking()) is not None:
        raise error

    return bind
