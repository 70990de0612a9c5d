"""How large the arrays of a program are."""

import math
from collections.abc import Iterator
from typing import Any

from jaxspark._jax_internals import inner_programs, taken_apart


def array_sizes(program: Any) -> Iterator[int]:
    """The numbers of elements of all arrays in a program of `jax.make_jaxpr`.

    Those in loops and in called functions are among them.
    """
    jaxpr, _ = taken_apart(program)
    for variable in (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars):
        yield math.prod(variable.aval.shape)
    for eqn in jaxpr.eqns:
        yield from (math.prod(out.aval.shape) for out in eqn.outvars)
        for inner in inner_programs(eqn):
            yield from array_sizes(inner)
