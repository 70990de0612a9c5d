"""Functions of time in expressions, replaced by real symbols that stand for their values."""

from collections.abc import Mapping, Sequence
from typing import Any

from ._sympy import sympy


class Symbols:
    """What the symbols of a mechanism's expressions are.

    SymPy differentiates expressions of plain real symbols faster than those of functions of time,
    and knows the derivatives of their absolute values.

    **Arguments:**

    - `coordinates`: functions of time, such as `dynamicsymbols("q")`.
    - `speeds`: functions of time, the velocities of the system; by default the derivatives of the
        coordinates.
    - `inputs`: functions of time whose values are given by functions of JAX.

    **Attributes:**

    - `t`, `y`, `z`: symbols of the time, the coordinates and the velocities.
    - `parameters`: symbols by name, as they occur in expressions.
    - `inputs`: symbols by name.

    **Raises:** `ValueError` if these are not different functions of one time.
    """

    def __init__(
        self,
        coordinates: Sequence[Any],
        speeds: Sequence[Any] | None = None,
        inputs: Sequence[Any] = (),
    ):
        sp = sympy()
        self.time = _time_of(coordinates)
        kinds = {"Coordinate": coordinates, "Speed": speeds or (), "Input": inputs}
        for kind, of in kinds.items():
            for x in of:
                if not _is_function_of(x, self.time):
                    raise ValueError(
                        f"{kind} {x} must be a function of the time {self.time}, such as "
                        f"dynamicsymbols('q')."
                    )
        names = [named(x) for x in (*coordinates, *(speeds or ()), *inputs)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Coordinates, speeds, inputs need different names; {twice} do not.")
        velocities = [q.diff(self.time) for q in coordinates] if speeds is None else speeds
        self.coordinates, self.velocities = tuple(coordinates), tuple(velocities)
        # Names of our own: those of parameters may be anything.
        real = lambda name: sp.Symbol(name, real=True)
        self.t = real("t")
        self.y = tuple(real(f"y{k}") for k in range(len(self.coordinates)))
        self.z = tuple(real(f"z{k}") for k in range(len(self.velocities)))
        self.inputs = {named(x): real(f"u{k}") for k, x in enumerate(inputs)}
        self.parameters: dict[str, Any] = {}
        self._values = dict(zip(self.coordinates, self.y)) | dict(zip(self.velocities, self.z))
        self._symbols: dict[Any, Any] = {self.time: self.t}

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of coordinates and velocities; derivatives have the name of the coordinate."""
        of = lambda x: x.args[0] if x.is_Derivative else x
        return (
            tuple(named(q) for q in self.coordinates),
            tuple(named(of(u)) for u in self.velocities),
        )

    def add(self, values: Mapping[Any, Any]) -> None:
        """Have these functions of time replaced by expressions of the symbols, too."""
        self._values = dict(values) | self._values

    def plain(self, expression: Any, where: str) -> Any:
        """The expression in the symbols.

        **Arguments:**

        - `expression`: of SymPy, or an equation, which is its left side less its right side.
        - `where`: the name of the expression, for errors.

        **Raises:** `ValueError` if it has functions of time that are not known, or different
        symbols of one name.
        """
        sp = sympy()
        expression = sp.sympify(expression)
        if isinstance(expression, sp.Equality):
            expression = expression.lhs - expression.rhs
        if not isinstance(expression, sp.Expr) or getattr(expression, "is_Matrix", False):
            raise ValueError(f"{where} must be one expression; got {expression}.")
        if expression.has(sp.DiracDelta):
            # Those of derivatives of signs and steps are left out, almost everywhere rightly.
            raise ValueError(f"JAX has nothing that computes DiracDelta, in the {where}.")
        if expression.atoms(sp.Derivative) - set(self._values):
            expression = expression.doit()
        for symbol in sorted(_symbols_of(expression), key=str):
            if symbol not in self._symbols:
                self._symbols[symbol] = self._parameter(symbol)
        # A higher derivative of a function that is known would become that of a number.
        kinds = sp.Derivative, sp.core.function.AppliedUndef
        found = expression.atoms(*kinds)
        # By name, as assumptions of an input do not matter.
        given = {x for x in found if x.args == (self.time,) and named(x) in self.inputs}
        self._values |= {x: self.inputs[named(x)] for x in given}
        unknown = found - set(self._values)
        if unknown:
            raise ValueError(
                f"{where} has {sorted(map(str, unknown))}, which are none of the coordinates "
                f"{list(map(str, self.coordinates))}, the velocities "
                f"{list(map(str, self.velocities))} and the inputs {sorted(self.inputs)}."
            )
        return expression.xreplace(self._values | self._symbols)

    def _parameter(self, symbol: Any) -> Any:
        sp = sympy()
        if symbol.name in self.parameters:
            raise ValueError(
                f"There are different symbols of the name {symbol.name!r}, with other assumptions "
                "(positive=True, for instance); make one symbol and use it everywhere."
            )
        name = f"p{len(self.parameters)}"
        matrix = isinstance(symbol, sp.MatrixSymbol)
        own = sp.MatrixSymbol(name, *symbol.shape) if matrix else sp.Symbol(name, real=True)
        self.parameters[symbol.name] = own
        return own


def _symbols_of(expression: Any) -> set[Any]:
    """Its free symbols, matrices as a whole."""
    sp = sympy()
    return {x for x in expression.free_symbols if isinstance(x, sp.Symbol | sp.MatrixSymbol)}


def named(x: Any) -> str:
    """The name of a function of time, of its derivative or of a symbol; strings are names."""
    if isinstance(x, str):
        return x
    if getattr(x, "is_Derivative", False):
        return named(x.args[0]) + "'" * int(x.derivative_count)
    return x.func.__name__ if getattr(x, "is_Function", False) else str(x)


def _is_function_of(x: Any, time: Any) -> bool:
    sp = sympy()
    if isinstance(x, sp.Derivative):
        return _is_function_of(x.args[0], time) and x.free_symbols == {time}
    return isinstance(x, sp.core.function.AppliedUndef) and x.args == (time,)


def _time_of(coordinates: Sequence[Any]) -> Any:
    """The argument of the first coordinate."""
    sp = sympy()
    if not coordinates:
        raise ValueError("A mechanism needs coordinates; there are none.")
    first = coordinates[0]
    if not (
        isinstance(first, sp.core.function.AppliedUndef)
        and len(first.args) == 1
        and isinstance(first.args[0], sp.Symbol)
    ):
        raise ValueError(
            f"Coordinate {first} must be a function of the time alone, such as dynamicsymbols('q')."
        )
    return first.args[0]
