"""Straight code cut into levels, so that a compiler computes nothing twice."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array


ClosedJaxpr = jax.extend.core.ClosedJaxpr
Literal = jax.extend.core.Literal

# Never fused with what uses them, or nothing to compute.
FREE = {"cond", "convert_element_type", "neg", "scan", "slice", "squeeze", "while"}
# How many operations some others are worth, and what may be computed again at most.
TRANSCENDENTAL = 20
WORTH = {"div": 4, "sqrt": 4}
WORTH |= dict.fromkeys(("acos", "asin", "atan", "atan2", "cos", "cosh"), TRANSCENDENTAL)
WORTH |= dict.fromkeys(("exp", "log", "pow", "sin", "sinh", "tan", "tanh"), TRANSCENDENTAL)
WORTH |= dict.fromkeys(("cbrt", "erf", "erfc", "exp2", "expm1", "log1p"), TRANSCENDENTAL)
WORTH |= dict.fromkeys(("acosh", "asinh", "atanh", "lgamma", "logistic"), TRANSCENDENTAL)
KEEP = 12


def as_one_kernel(function: Callable[..., list[Array]], *operands: Array) -> list[Array]:
    """Call a function that XLA on a CPU is to compile as one kernel, and not to inline."""
    program = jax.make_jaxpr(function)(*operands)
    with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
        return jax.jit(jax.extend.core.jaxpr_as_fun(program))(*operands)


def in_levels(closed: ClosedJaxpr) -> Callable[..., list[Array]]:
    """A program of numbers, what is needed more than once computed before what needs it.

    XLA fuses a product into everything that uses it, and computes it again each time; through
    a function that is called, and returns what it is given, it does not see. A program
    has as many levels as such numbers depend on each other.
    """
    jaxpr = closed.jaxpr
    uses = Counter(var for eqn in jaxpr.eqns for var in set(_variables(eqn.invars)))
    uses.update(set(_variables(jaxpr.outvars)))
    level: dict[Any, int] = dict.fromkeys([*jaxpr.invars, *jaxpr.constvars], 0)
    levels: list[list[Any]] = []
    kept: set[Any] = set()
    worth: dict[Any, int] = {}
    for eqn in needed_equations(jaxpr):
        needed = _variables(eqn.invars)
        own = max((level[var] + (var in kept) for var in needed), default=0)
        levels.extend([] for _ in range(own + 1 - len(levels)))
        levels[own].append(eqn)
        again = sum(worth.get(var, 0) for var in set(needed) if var not in kept)
        for var in eqn.outvars:
            level[var] = own
            worth[var] = again + WORTH.get(eqn.primitive.name, 1)
            if eqn.primitive.name in FREE:
                worth[var] = again if len(eqn.outvars) == 1 else 0
            elif (uses[var] - 1) * worth[var] >= KEEP:
                kept.add(var)

    def run(*operands: Array) -> list[Array]:
        values = dict(zip(jaxpr.invars, operands, strict=True))
        values.update(zip(jaxpr.constvars, closed.consts, strict=True))

        def read(var: Any) -> Any:
            return var.val if isinstance(var, Literal) else values[var]

        for eqns in levels:
            for eqn in eqns:
                result = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
                results = result if eqn.primitive.multiple_results else [result]
                values.update(zip(eqn.outvars, results, strict=True))
            shared = [var for eqn in eqns for var in eqn.outvars if var in kept]
            values.update(zip(shared, as_they_are([values[var] for var in shared]), strict=True))
        return as_they_are([jnp.asarray(read(var)) for var in jaxpr.outvars])

    return run


def as_they_are(values: Sequence[Array]) -> list[Array]:
    """The same numbers, by way of a function."""
    return as_one_kernel(lambda *numbers: list(numbers), *values) if values else []


def needed_equations(jaxpr: jax.extend.core.Jaxpr) -> list[Any]:
    """The equations on which a result depends."""
    needed = set(_variables(jaxpr.outvars))
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(var in needed for var in eqn.outvars):
            kept.append(eqn)
            needed.update(_variables(eqn.invars))
    return kept[::-1]


def _variables(variables: Sequence[Any]) -> list[Any]:
    return [var for var in variables if not isinstance(var, Literal)]
