"""A mechanism of SymPy's equations: its system, its parameters, its states by name."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._consistent import project
from .._custom_types import Function
from .._html import table
from .._results import RESULTS
from ._equations import Equations
from ._symbols import named, Symbols
from ._system import Functions, SymbolicSystem


class SymbolicMechanism:
    """Equations of SymPy as functions of JAX.

    Made by [`jaxspark.symbolic.from_lagrangian`][], [`jaxspark.symbolic.from_lagranges_method`][]
    and [`jaxspark.symbolic.from_kanes_method`][]. Common subexpressions are computed once.

    **Attributes:**

    - `system`: for [`jaxspark.solve`][] and all else that takes a system.
    - `parameters`: their values by name, the `args` of the system. Other entries may be added for
        inputs.
    - `y_names`, `z_names`: the names of coordinates and velocities, in the order of the state.
        A velocity that is the derivative of a coordinate has the coordinate's name.
    """

    def __init__(
        self,
        equations: Equations,
        parameters: Mapping[Any, Any],
        inputs: Mapping[Any, Function],
    ):
        symbols = equations.symbols
        self.parameters: dict[str, Any] = values_of(symbols, parameters)
        self.y_names, self.z_names = symbols.names()
        of_name = {named(key): function for key, function in inputs.items()}
        self.system = SymbolicSystem(
            Functions(equations), tuple(symbols.parameters), tuple(symbols.inputs), of_name
        )
        self._sizes = len(equations.g), len(equations.k)
        self._y_at = {name: k for k, name in enumerate(self.y_names)}
        self._z_at = {name: k for k, name in enumerate(self.z_names)}
        self._z_at |= {named(u): k for k, u in enumerate(symbols.velocities)}

    def __repr__(self) -> str:
        return (
            f"SymbolicMechanism(coordinates: {', '.join(self.y_names)}; velocities: "
            f"{', '.join(self.z_names)}; constraints: {self._sizes[0]} holonomic, "
            f"{self._sizes[1]} nonholonomic; parameters: {', '.join(self.parameters)})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("coordinates", ", ".join(self.y_names)), ("velocities", ", ".join(self.z_names)),
            ("holonomic constraints", str(self._sizes[0])),
            ("nonholonomic constraints", str(self._sizes[1])),
            ("parameters", ", ".join(self.parameters)),
        ]  # fmt: skip
        return table("SymbolicMechanism", (), rows)

    def state(
        self,
        coordinates: Mapping[Any, Any] | None = None,
        velocities: Mapping[Any, Any] | None = None,
        *,
        guess: Mapping[Any, Any] | None = None,
        t: float = 0.0,
        args: Any = None,
    ) -> tuple[Array, Array]:
        """A consistent state, by symbols or names.

        **Arguments:**

        - `coordinates`: values that are held, by functions of time or their names.
        - `velocities`: values that are held, by derivatives or generalised speeds, or their names;
            others are the nearest to zero that constraints allow.
        - `guess`: coordinates from which the search for those that are not held starts, by
            default 0.
        - `t`: the time (s), for constraints that depend on it.
        - `args`: parameters, by default the mechanism's own.

        **Returns:** `y0` and `z0`.

        **Raises:** `ValueError` if there is no such coordinate or velocity, a value is not finite,
        or no state has these values.
        """
        y, hold_y = self._filled("coordinates", self._y_at, coordinates or {}, guess or {})
        z, hold_z = self._filled("velocities", self._z_at, velocities or {}, {})
        if self.system.g is None and self.system.k is None:
            return y, z
        found = project(
            self.system, t, y, z, self.parameters if args is None else args,
            hold_y=hold_y, hold_z=hold_z, throw=False,
        )  # fmt: skip
        if found.result != RESULTS.successful:
            raise ValueError(
                "No state near the guess satisfies the constraints and has these values: "
                f"{found.violation()}"
            )
        return found.y, found.z

    def _filled(
        self, what: str, at: dict[str, int], held: Mapping[Any, Any], guess: Mapping[Any, Any]
    ) -> tuple[Array, np.ndarray]:
        """The vector of these values, and which of them are held."""
        size = len(set(at.values()))
        values, hold = np.zeros(size), np.zeros(size, bool)
        for given, is_held in ((guess, False), (held, True)):
            for key, value in given.items():
                if named(key) not in at:
                    raise ValueError(f"{key} is none of the {what} {sorted(at)}.")
                value = np.asarray(value, float)
                if value.shape or not np.isfinite(value):
                    raise ValueError(f"{key} must be a finite number; got {value}.")
                values[at[named(key)]], hold[at[named(key)]] = value, is_held
        return jnp.asarray(values), hold

    def coordinates(self, y: Array) -> dict[str, Array]:
        """Coordinates by name, of one state or of many, along the last axis."""
        return {name: y[..., k] for k, name in enumerate(self.y_names)}

    def velocities(self, z: Array) -> dict[str, Array]:
        """Velocities by name, of one state or of many, along the last axis."""
        return {name: z[..., k] for k, name in enumerate(self.z_names)}


def values_of(symbols: Symbols, parameters: Mapping[Any, Any]) -> dict[str, Any]:
    """The values by name.

    **Raises:** `ValueError` if one is missing, or is no finite number or matrix of its shape.
    """
    given = {named(key): value for key, value in parameters.items()}
    missing = [name for name in symbols.parameters if name not in given]
    if missing:
        raise ValueError(f"parameters has no values of {missing}.")
    for name, symbol in symbols.parameters.items():
        shape = tuple(map(int, getattr(symbol, "shape", ())))
        try:
            value = np.asarray(given[name], float)
        except (TypeError, ValueError):
            value = np.asarray(np.nan)
        if value.shape != shape or not np.all(np.isfinite(value)):
            kind = f"a matrix of finite numbers, {shape}" if shape else "a finite number"
            raise ValueError(f"Parameter {name!r} must be {kind}; got {given[name]!r}.")
        given[name] = value if shape else float(value)
    return given
