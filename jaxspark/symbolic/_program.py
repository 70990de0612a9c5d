"""Expressions as functions of JAX."""

import functools
import hashlib
import inspect
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ._sympy import sympy


# Functions that SymPy's printer takes from Python's `math`, which knows no arrays.
_SPECIAL = {
    "erf": "erf", "erfc": "erfc", "gamma": "gamma", "loggamma": "gammaln",
}  # fmt: skip
_LARGEST = 2**31


class Program:
    """Lists and matrices of expressions as one function with common subexpressions.

    **Arguments:**

    - `symbols`: what it is called with, in this order.
    - `parts`: lists, which become vectors, and matrices, by the name that errors give them.

    **Raises:** `ValueError` if JAX has no counterpart of something: the message names it.
    """

    def __init__(self, symbols: Sequence[Any], parts: dict[str, Any]):
        self.shapes = [getattr(part, "shape", (len(part),)) for part in parts.values()]
        entries = [x for part in parts.values() for x in part]
        try:
            self.function = _lambdified(symbols, entries)
            _shapes(self.function, symbols)
        except Exception as error:
            for name, part in parts.items():
                wrong = sorted({name for x in part for name in _without_counterpart(x)})
                if wrong:
                    raise ValueError(
                        f"JAX has nothing that computes {', '.join(wrong)}, in the {name}."
                    ) from error
            raise
        source = inspect.getsource(self.function)
        self.digest = hashlib.sha256(source.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Program({self.digest})"

    def __call__(self, values: Sequence[Array], dtype: Any) -> list[Array]:
        """The parts, in the dtype of the state."""
        entries = [jnp.asarray(x, dtype) for x in self.function(*values)]
        found, at = [], 0
        for shape in self.shapes:
            part = entries[at : at + math.prod(shape)]
            at += len(part)
            whole = jnp.stack(part) if part else jnp.zeros(0, dtype)
            found.append(whole.reshape(shape))
        return found


def _shapes(function: Any, symbols: Sequence[Any]) -> None:
    """Trace a function.

    **Raises:** `TypeError` if it returns what is not real.
    """
    number = jnp.result_type(float)  # single precision, unless x64 is enabled
    shaped = [
        jax.ShapeDtypeStruct(tuple(map(int, getattr(x, "shape", ()))), number) for x in symbols
    ]
    real = lambda *values: [jnp.asarray(x) + 0.0 for x in function(*values)]
    for out in jax.eval_shape(real, *shaped):
        if not jnp.issubdtype(out.dtype, jnp.floating):
            raise TypeError("An expression is not real.")


def _lambdified(symbols: Sequence[Any], entries: Sequence[Any]) -> Any:
    sp = sympy()
    settings = {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True}
    # The order of sums does not matter, and to find a canonical one takes long.
    shared = lambda expressions: sp.cse(expressions, order="none", list=False)
    return sp.lambdify(
        symbols, list(entries), modules="jax", cse=shared, printer=_printer()(settings),
        docstring_limit=0,
    )  # fmt: skip


@functools.cache
def _printer() -> Any:
    """SymPy's printer for JAX, with what JAX has besides and without powers in floats."""
    sp = sympy()
    from sympy.printing.numpy import JaxPrinter

    class Printer(JaxPrinter):
        _kf = JaxPrinter._kf | {name: f"jax.scipy.special.{own}" for name, own in _SPECIAL.items()}

        def _print_Pow(self, expr: Any, rational: bool = False) -> str:
            # Powers of integers are products, and their derivatives are finite at zero.
            if expr.exp.is_Integer and expr.exp.is_negative:
                return f"(1/({self._print(sp.Pow(expr.base, -expr.exp))}))"
            return super()._print_Pow(expr, rational=rational)

        def _print_Integer(self, expr: Any) -> str:
            # Larger ones do not fit into the integers of single precision.
            return str(expr.p) if abs(expr.p) < _LARGEST else repr(float(expr.p))

        def _print_polygamma(self, expr: Any) -> str:
            order, x = expr.args
            digamma = self._module_format("jax.scipy.special.digamma")
            return f"{digamma}({self._print(x)})" if order == 0 else "polygamma()"

        def _print_DiracDelta(self, expr: Any) -> str:
            # The derivative of a sign or a step, zero but at one point, as JAX has it.
            return "0"

    return Printer


def _without_counterpart(expression: Any) -> set[str]:
    """What in an expression JAX cannot compute; each function is tried alone."""
    sp = sympy()
    whole = (sp.Integral, sp.Derivative, sp.Sum, sp.Product, sp.Limit, sp.Subs, sp.Indexed)
    wrong = set()
    for node in sp.preorder_traversal(expression):
        if isinstance(node, whole):
            wrong.add(type(node).__name__)
        elif node in (sp.I, sp.zoo, sp.nan):
            wrong.add({sp.I: "the imaginary unit", sp.zoo: "infinity"}.get(node, "NaN"))
        elif node.is_Function and all(isinstance(x, sp.Expr) for x in node.args):
            numbers = [x if x.is_number else sp.Dummy(real=True) for x in node.args]
            symbols = [x for x in numbers if not x.is_number]
            try:
                _shapes(_lambdified(symbols, [node.func(*numbers)]), symbols)
            except Exception:
                wrong.add(node.func.__name__)
    return wrong
