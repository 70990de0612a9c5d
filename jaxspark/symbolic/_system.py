"""Equations of SymPy as a system for all solvers."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from .._custom_types import Args, FloatScalar
from .._system import AbstractStructuredSystem, Accelerations
from ._equations import Equations
from ._program import Program


Input = Callable[..., Any]


class Functions:
    """Functions of JAX for the parts of the equations."""

    def __init__(self, equations: Equations):
        s = equations.symbols
        common = [s.t, *s.y, *s.z, *s.parameters.values()]
        forced = [*common, *s.inputs.values()]
        of = lambda name, rows, symbols=common: Program(symbols, {name: list(rows)})
        e = equations
        self.v = None if e.v is None else of("derivatives of coordinates", e.v)
        self.p = of("momenta", e.p)
        self.f = of("forces", e.f, forced)
        self.g = of("holonomic constraints", e.g) if len(e.g) else None
        self.k = of("nonholonomic constraints", e.k) if len(e.k) else None
        C, b, c = e.rates()
        parts = {
            "mass matrix": e.M, "forces": list(e.h), "derivatives of constraints": C,
            "rates of constraints": list(b), "accelerations of constraints": list(c),
        }  # fmt: skip
        self.all = Program(forced, parts)

    def __repr__(self) -> str:
        # What digests know of it.
        return f"Functions({', '.join(map(repr, vars(self).values()))})"


class SymbolicSystem(AbstractStructuredSystem):
    r"""A system whose functions are expressions of SymPy.

        y' = v,   M z' = h - (g_y v_z)^T lam - k_z^T psi,   0 = g,   0 = k

    Made by the functions of `jaxspark.symbolic`. `args` are values of parameters by name, to which
    others may be added for inputs.

    - `functions`: of JAX.
    - `parameters`: the names of the parameters, in the order in which functions take them.
    - `names`: those of the inputs, in this order, too.
    - `inputs`: names and functions `(t, y, z, args)` of the inputs.
    """

    functions: Functions = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    inputs: dict[str, Input]

    def prepared(self, args: Args) -> Args:
        """The parameters themselves."""
        return args

    def _values(self, t: Any, y: Array, z: Array, args: Args) -> list[Array]:
        missing = sorted(set(self.parameters) - set(args or {}))
        if missing:
            raise ValueError(f"args has no {missing}; there are {sorted(args or {})}.")
        parameters = [jnp.asarray(args[name], y.dtype) for name in self.parameters]
        return [jnp.asarray(t, y.dtype), *y, *z, *parameters]

    def _forced(self, t: Any, y: Array, z: Array, args: Args) -> list[Array]:
        found = {name: jnp.asarray(of(t, y, z, args), y.dtype) for name, of in self.inputs.items()}
        for name, value in found.items():
            if value.shape:
                raise ValueError(
                    f"Input {name!r} must be a number; its function returns shape {value.shape}."
                )
        return [*self._values(t, y, z, args), *(found[name] for name in self.names)]

    @property
    def v(self) -> Any:
        """The derivatives of the coordinates; `None` if they are the velocities."""
        return None if self.functions.v is None else self._v

    def _v(self, t, y, z, args):
        assert self.functions.v is not None
        return self.functions.v(self._values(t, y, z, args), y.dtype)[0]

    def p(self, t, y, z, args):
        """The momenta."""
        return self.functions.p(self._values(t, y, z, args), y.dtype)[0]

    def f(self, t, y, z, args):
        """What changes the momenta, but for the constraints."""
        return self.functions.f(self._forced(t, y, z, args), y.dtype)[0]

    @property
    def g(self) -> Any:
        """The holonomic constraints; `None` if there are none."""
        return None if self.functions.g is None else self._g

    def _g(self, t, y, args):
        assert self.functions.g is not None
        # Velocities do not occur in it.
        z = jnp.zeros(self._nz(), y.dtype)
        return self.functions.g(self._values(t, y, z, args), y.dtype)[0]

    @property
    def k(self) -> Any:
        """The nonholonomic constraints; `None` if there are none."""
        return None if self.functions.k is None else self._k

    def _k(self, t, y, z, args):
        assert self.functions.k is not None
        return self.functions.k(self._values(t, y, z, args), y.dtype)[0]

    def _nz(self) -> int:
        return self.functions.all.shapes[0][0]

    @property
    def r(self) -> None:
        """The constraint forces are ideal."""

    @property
    def reaction(self) -> None:
        """They are ideal."""

    @property
    def friction(self) -> None:
        """There is none."""

    def accelerations(
        self, t: FloatScalar, y: Array, z: Array, on: FloatScalar, args: Any
    ) -> Accelerations:
        """The equations; see the class."""
        M, h, C, b, c = self.functions.all(self._forced(t, y, z, args), y.dtype)
        return Accelerations(M, on * h, C, b, on * c)

    def balance(
        self,
        t: FloatScalar,
        y: Array,
        z: Array,
        u: Array,
        mu: Array,
        on: FloatScalar,
        args: Any,
    ) -> tuple[Array, Array, Array]:
        """The residuals of the equations, and the rates of the constraints."""
        M, h, C, b, c, _ = self.accelerations(t, y, z, on, args)
        missing = jnp.sum(M * u[None, :], 1) + jnp.sum(C * mu[:, None], 0) - h
        return missing, jnp.sum(C * u[None, :], 1) + c, b
