"""Methods for stiff mechanisms as solvers of `diffrax.diffeqsolve`."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, RealScalarLike
from .._implicit import stop_gradient
from .._results import RESULTS
from .._stiff import (
    extrapolated_stages,
    GGL,
    ggl_step,
    start_stages,
    step_error,
    Weights,
)
from .._system import FlatSystem
from ._base import AbstractConstrainedSolver, Attempt, SolverState
from ._underlying import flat_underlying


class Acceleration(eqx.Module):
    """`z'` at the start of a step: that of the last stage of the step before."""

    zdot: Float[Array, " nz"]


class GGLSolver(AbstractConstrainedSolver):
    """A method for stiff mechanisms as a solver of `diffrax.diffeqsolve`.

    As [`jaxspark.DiffraxSolver`][] for other methods, with a [`jaxspark.ConstrainedTerm`][]. The
    error is measured on the independent coordinates and the step size times the independent
    velocities, in units of which the controller's norm must be a root mean square. It grows with
    the power `error_order` of the step size: give the controller an integral coefficient of 1.

    [`jaxspark.solve`][] is the convenient way to use it.

    **Arguments:**

    - `method`: [`jaxspark.GGL`][].
    - `rtol`, `atol`: the tolerances of the controller, by which the Newton iteration ends.

    **Raises:** `TypeError` if `method` is something else.
    """

    method: GGL = eqx.field(static=True)
    rtol: RealScalarLike = 1e-6
    atol: RealScalarLike = 1e-6

    def __check_init__(self):
        if not isinstance(self.method, GGL):
            raise TypeError(f"method must be jaxspark.GGL(...); got {self.method!r}.")

    def order(self, terms: Any) -> int:
        """That of the method for motions that are not stiff."""
        del terms
        return self.method.method.tableau.order

    def error_order(self, terms: Any) -> int:
        """That of the estimate: it is made with the stages, one more than there are."""
        del terms
        return self.method.method.tableau.stages + 1

    def start(self, flat, y, z):
        """The state itself at every stage, and no acceleration."""
        stages = start_stages(flat, self.method.method.tableau.stages, y, z)
        return stages, Acceleration(jnp.zeros_like(z))

    def attempt(self, flat, t, y, z, h, before, made_jump) -> Attempt:
        """A step, with its error filtered and on independent coordinates."""
        coefficients = self.method.coefficients
        weights = self._weights(y, z)
        known = (before.h != 0) & ~made_jump
        multipliers = None
        if self.method.newton == "gl":
            multipliers = before.stages.lam[-1], before.stages.psi[-1]
        expected = extrapolated_stages(
            coefficients, y, z, (before.y, before.z), before.stages,
            h / jnp.where(known, before.h, 1), weights,
        )  # fmt: skip
        expected = jax.tree.map(lambda a, b: jnp.where(known, a, b[None, :]), expected, (y, z))
        end = ggl_step(
            flat, coefficients, t, y, z, h, weights, self.method.newton, multipliers, expected
        )
        # A lane that has reached its end is stepped with h = 0.
        size = jnp.where(h == 0, 1, h)
        frozen = stop_gradient((flat, t + h, y, z, size, end.stages, end.y, end.z, before, weights))
        flat, t1, y, z, size, stages, y1, z1, before, weights = frozen
        zdot = _acceleration(flat, t, y, z, known, before)
        rates = flat.velocity(t, y, z), zdot
        error_y, error_z = step_error(
            flat,
            coefficients,
            t1,
            (y, z),
            size,
            stages,
            rates,
            (y1, z1),
            weights,
            velocities=self.method.error_norm != "positions",
        )
        last = jnp.asarray(coefficients.W[-1], z.dtype)[:, None]
        acceleration = Acceleration(jnp.sum(last * (stages.z - z[None, :]), 0) / size)
        return Attempt(
            end.y, end.z, error_y, error_z, stages, acceleration, end.iterations, end.result
        )

    def shorter(self, flat, t, y, z, h, stages, fraction):
        """A step of its own."""
        del stages
        end = ggl_step(
            flat, self.method.coefficients, t, y, z, h * fraction, self._weights(y, z),
            self.method.newton,
        )  # fmt: skip
        return end.y, end.z, end.result == RESULTS.successful

    def _weights(self, y: Float[Array, " ny"], z: Float[Array, " nz"]) -> Weights:
        rtol, atol = (jnp.asarray(x, y.dtype) for x in (self.rtol, self.atol))
        return Weights(atol + rtol * jnp.abs(y), atol + rtol * jnp.abs(z))


def _acceleration(
    flat: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    known: BoolScalar,
    before: SolverState,
) -> Float[Array, " nz"]:
    """That of the underlying ODE where there was no step before, or a jump.

    In a loop of at most one trip, so that under `jax.vmap` it costs nothing unless some lane
    needs it.
    """

    def body(carry):
        _, z, _ = carry
        return jnp.asarray(True), z, flat_underlying(flat, t, y, z)[0]

    start = (known, z, before.history.zdot)
    return jax.lax.while_loop(lambda carry: ~carry[0], body, start)[2]
