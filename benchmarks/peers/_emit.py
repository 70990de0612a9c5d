"""CasADi's expressions as functions that numba has compiled."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ._require import peer


UNARY = {
    "OP_SIN": "math.sin({})",
    "OP_COS": "math.cos({})",
    "OP_SQRT": "math.sqrt({})",
    "OP_NEG": "-{}",
    "OP_SQ": "{0}*{0}",
    "OP_INV": "1.0/{}",
    "OP_TWICE": "2.0*{}",
    "OP_ASSIGN": "{}",
}
BINARY = {
    "OP_ADD": "{}+{}",
    "OP_SUB": "{}-{}",
    "OP_MUL": "{}*{}",
    "OP_DIV": "{}/{}",
    "OP_POW": "{}**{}",
    "OP_CONSTPOW": "{}**{}",
}


def compiled(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], scalars: Collection[int] = ()
) -> Callable[..., None]:
    """A function `name(*inputs, *outputs)` that fills dense outputs.

    It writes what is not structurally zero: the caller zeroes the outputs.

    **Arguments:**

    - `inputs`, `outputs`: CasADi's symbols and expressions.
    - `scalars`: the indices of those inputs that are numbers, not arrays.
    """
    casadi, numba = peer("casadi"), peer("numba")
    namespace: dict[str, Any] = {"math": math}
    exec(_source(casadi, name, casadi.Function(name, inputs, outputs), scalars), namespace)
    return numba.njit(namespace[name])


def _source(casadi: Any, name: str, function: Any, scalars: Collection[int]) -> str:
    formats = {getattr(casadi, key): text for key, text in {**UNARY, **BINARY}.items()}
    shapes = [function.sparsity_out(i) for i in range(function.n_out())]
    places = [shape.get_triplet() for shape in shapes]
    names = [f"i{k}" for k in range(function.n_in())] + [f"o{k}" for k in range(len(shapes))]
    lines = [f"def {name}({', '.join(names)}):"]
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        to, of = function.instruction_output(k), function.instruction_input(k)
        if operation == casadi.OP_CONST:
            lines.append(f" w{to[0]} = {function.instruction_constant(k)!r}")
        elif operation == casadi.OP_INPUT:
            place = "" if of[0] in scalars else f"[{of[1]}]"
            lines.append(f" w{to[0]} = i{of[0]}{place}")
        elif operation == casadi.OP_OUTPUT:
            rows, columns = places[to[0]]
            column = "" if shapes[to[0]].size2() == 1 else f",{columns[to[1]]}"
            lines.append(f" o{to[0]}[{rows[to[1]]}{column}] = w{of[0]}")
        else:
            lines.append(f" w{to[0]} = " + formats[operation].format(*(f"w{i}" for i in of)))
    return "\n".join(lines)
