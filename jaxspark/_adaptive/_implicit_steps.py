"""What steps of implicit methods have in common: derivatives at known stages."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_multipliers, flat_residuals
from .._custom_types import FloatScalar
from .._driver import AbstractSteps
from .._implicit import lazily, stop_gradient
from .._step import differentiated_if
from .._system import FlatSystem


class ImplicitSteps(AbstractSteps):
    """Steps whose stages solve equations.

    A derivative is that of these equations at the stages that were found, by the implicit function
    theorem.

    **Arguments:**

    - `static`: the flat system without its arrays, which come as `parameters`: those that are
        differentiated, and a pair of others, the system's and the method's own.
    """

    def __init__(self, static: FlatSystem):
        self.static = static
        self.ny, self.nz = static.ny, static.nz

    @abc.abstractmethod
    def end(
        self,
        system: FlatSystem,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: Float[Array, " m"],
    ) -> Float[Array, " n"]:
        """Where a step ends whose stages are known, as a function of all else."""

    def system(self, parameters: Any) -> FlatSystem:
        """The flat system with its arrays."""
        moving, (fixed, _) = parameters
        return eqx.combine(moving, fixed, self.static)

    def split(self, x: Float[Array, " n"]) -> tuple[Float[Array, " ny"], Float[Array, " nz"]]:
        """`y` and `z`."""
        return x[: self.ny], x[self.ny :]

    def residuals(self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]) -> Any:
        """`g`, `gdot` and `k`."""
        return flat_residuals(self.system(parameters), t, *self.split(x))

    def push(self, parameters, t, h, x, note, tangents, bounded=False):
        """The tangent of the end."""
        del bounded
        moved = self._end_of(parameters, note)
        dp, dt, dh, dx = tangents
        return jax.jvp(moved, (parameters[0], t, h, x), (dp, dt, dh, dx))[1]

    def pull(self, parameters, t, h, x, note, to_x1, to_parameters):
        """The cotangents of where it starts."""
        moved = self._end_of(parameters, note)
        to_p, to_t, to_h, to_x = jax.vjp(moved, parameters[0], t, h, x)[1](to_x1)
        return to_t, to_h, to_x, jax.tree.map(jnp.add, to_parameters, to_p)

    def _end_of(self, parameters: Any, note: Any) -> Any:
        """The end, as a function of parameters, time, size and start."""
        _, others = parameters
        note = stop_gradient(note)

        def end(moving, t, h, x):
            system = self.system((moving, others))
            # To the very start no step leads; with time the state moves as the ODE says.
            idle = h == 0
            size = jnp.where(idle, 1, h)
            operands = differentiated_if(~idle, (system, t, size, x))
            there = self.end(*operands, note)
            return jnp.where(idle, x + h * self._slope_if(idle, system, t, x), there)

        return end

    def _slope_if(self, wanted: Any, system: FlatSystem, t: Any, x: Any) -> Any:
        """The derivative of the state by the underlying ODE if it is wanted, else zeros."""
        system, t, x = stop_gradient((system, t, x))

        def slope(x):
            y, z = self.split(x)
            return jnp.concatenate([system.velocity(t, y, z), flat_multipliers(system, t, y, z)[0]])

        return lazily(wanted, slope, x, jnp.zeros_like(x))
