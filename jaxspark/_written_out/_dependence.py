"""Whether a function depends on an argument, number by number."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.extend

from ._lower import numbers_program


Literal = jax.extend.core.Literal


def depends_on(function: Callable[..., Any], *operands: Any, which: tuple[int, ...]) -> bool:
    """Whether the value of a function may depend on some of its operands.

    A product with a known zero does not. Of functions that are too large to be written out it is
    said that they do.

    **Arguments:**

    - `function`: of PyTrees of arrays; `operands`: its arguments, of which shapes matter.
    - `which`: the numbers of the operands in question.
    """
    arrays, known = eqx.partition(operands, lambda x: isinstance(x, jax.Array))
    leaves, structure = jax.tree.flatten(arrays)
    closed = jax.make_jaxpr(
        lambda *leaves: function(*eqx.combine(jax.tree.unflatten(structure, leaves), known))
    )(*leaves)
    program = numbers_program(closed)
    if program is None:
        return True
    counts = [sum(leaf.size for leaf in jax.tree.leaves(part)) for part in arrays]
    jaxpr = program.jaxpr
    reached = set()
    for i in which:
        start = sum(counts[:i])
        reached.update(jaxpr.invars[start : start + counts[i]])
    for eqn in jaxpr.eqns:
        if any(not isinstance(var, Literal) and var in reached for var in eqn.invars):
            reached.update(eqn.outvars)
    return any(not isinstance(var, Literal) and var in reached for var in jaxpr.outvars)
