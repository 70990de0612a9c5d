"""Steps of stiff methods, with estimates of their errors."""

from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._driver import Step
from .._stiff import (
    extrapolated_stages,
    GGL,
    ggl_end,
    ggl_step,
    GGLStages,
    start_stages,
    step_error,
    Weights,
)
from .._system import FlatSystem
from ._implicit_steps import ImplicitSteps


# Of the longest step, or the state over its rate: the first size. Stiff forces, which may be large
# at the start, are no reason for short steps.
FIRST = 1e-3


class Memory(NamedTuple):
    """The step before: where it started, its size (0: there was none), its stages as a vector.

    - `zdot`: at its end.
    """

    t: FloatScalar
    h: FloatScalar
    x: Float[Array, " n"]
    stages: Float[Array, " m"]
    zdot: Float[Array, " nz"]


class GGLSteps(ImplicitSteps):
    """Steps of a stiff method.

    The error is measured on independent coordinates and velocities. It grows with the power
    `error_order` of the step size, by which alone that is controlled.

    **Arguments:**

    - `static`: the flat system without its arrays. The method's own are the tolerances, by which
        Newton's iteration ends.
    """

    probes, gains = False, (0.0, 1.0)

    def __init__(self, static: FlatSystem, method: GGL):
        super().__init__(static)
        self.method, self.coefficients = method, method.coefficients

    @property
    def error_order(self) -> int:
        """That of the estimate: it is made with the stages, one more than there are."""
        return self.method.method.tableau.stages + 1

    def _like(self, system: FlatSystem, x: Any) -> GGLStages:
        return start_stages(system, len(self.coefficients.c), *self.split(x))

    def start(self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]) -> tuple[Any, Any]:
        """The state itself at every stage, and no acceleration."""
        stages = jax.flatten_util.ravel_pytree(self._like(self.system(parameters), x))[0]
        return self.recalled(t, jnp.zeros_like(t), x, stages), stages

    def recalled(self, t, h, x, note) -> Memory:
        """Its stages are recorded, its last acceleration is not."""
        return Memory(t, h, x, note, jnp.zeros_like(x[self.ny :]))

    def first_size(self, parameters, t, x, tolerances) -> FloatScalar:
        """The velocities alone tell."""
        y, z = self.split(x)
        speed = jnp.max(jnp.abs(self.system(parameters).velocity(t, y, z)), initial=0)
        size = 1 + jnp.max(jnp.abs(y), initial=0)
        return FIRST * size / jnp.maximum(speed, FIRST * size)

    def make(
        self, parameters: Any, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"], memory: Memory
    ) -> Step:
        """A step, with its error filtered and on independent coordinates."""
        system, (_, (rtol, atol)) = self.system(parameters), parameters[1]
        coefficients = self.coefficients
        y, z = self.split(x)
        weights = Weights(atol + rtol * jnp.abs(y), atol + rtol * jnp.abs(z))
        unravel = jax.flatten_util.ravel_pytree(self._like(system, x))[1]
        stages = unravel(memory.stages)
        # A shorter step from the same start has nothing before it.
        known = (memory.h != 0) & (memory.t != t)
        multipliers = None
        if self.method.newton == "gl" or system.friction is not None:
            multipliers = stages.lam[-1], stages.psi[-1]
        ratio = h / jnp.where(known, memory.h, 1)
        before = self.split(memory.x)
        expected = extrapolated_stages(coefficients, y, z, before, stages, ratio, weights)
        expected = jax.tree.map(lambda a, b: jnp.where(known, a, b[None, :]), expected, (y, z))
        end = ggl_step(
            system, coefficients, t, y, z, h, weights, self.method.newton, multipliers, expected
        )
        size = jnp.where(h == 0, 1, h)
        zdot = self._acceleration(system, t, x, known, memory)
        rates, ends = (system.velocity(t, y, z), zdot), (end.y, end.z)
        error_y, error_z = step_error(
            system, coefficients, t + h, (y, z), size, end.stages, rates, ends, weights,
            self.method.error_norm,
        )  # fmt: skip
        last = jnp.asarray(coefficients.W[-1], z.dtype)[:, None]
        zdot = jnp.sum(last * (end.stages.z - z[None, :]), 0) / size
        vector = jax.flatten_util.ravel_pytree(end.stages)[0]
        return Step(
            jnp.concatenate(ends), jnp.concatenate([error_y, error_z]), vector,
            Memory(t, h, x, vector, zdot), end.iterations, end.result,
        )  # fmt: skip

    def _acceleration(
        self, system: FlatSystem, t: Any, x: Any, known: BoolScalar, memory: Memory
    ) -> Float[Array, " nz"]:
        """That of the underlying ODE where there was no step before, in a loop of one trip."""
        nothing = jnp.concatenate([jnp.zeros(self.ny, x.dtype), memory.zdot])
        return jnp.where(known, nothing, self._slope_if(~known, system, t, x))[self.ny :]

    def end(self, system, t, h, x, note):
        """The last of the stages, on the constraints."""
        unravel = jax.flatten_util.ravel_pytree(self._like(system, x))[1]
        y, z = self.split(x)
        end_y, end_z, _ = ggl_end(self.coefficients, system, t, y, z, h, unravel(note))
        return jnp.concatenate([end_y, end_z])
