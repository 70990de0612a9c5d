r"""Evaluations of systems that give their accelerations themselves, and their derivatives.

The evaluation is that of `_field`, with `M`, `C` and the right-hand sides from the system. Its
derivatives are those of the residual at the known solution: with `L` the solution of the transposed
equations, the gradient of `-L . E(t, y, z, u, mu)` at fixed `u`, `mu` and `L`. The residual is
inverse dynamics, so that neither a mass matrix nor an elimination is differentiated.

Source: A. Griewank & A. Walther, *Evaluating Derivatives*, 2nd edition, section 15.1.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._system import FlatSystem, value_and_jacobian
from ._field import Evaluation, Field, Linearised, Parameters, Weights
from ._saddle import DenseSaddle, Eliminate, PartsSaddle


class StructuredField(Field):
    """The evaluations of such a system.

    **Arguments:**

    - `static`, `eliminate`: as for `Field`.
    - `by_parts`: whether a mass matrix that comes by its parts is used so.
    """

    def __init__(self, static: FlatSystem, eliminate: Eliminate, by_parts: bool = True):
        super().__init__(static, eliminate)
        self.by_parts = by_parts

    def evaluate(
        self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"], weights: Weights
    ) -> Evaluation:
        """The evaluation of these weights."""
        a, q, w = weights
        system = self.system(parameters)
        y, z = self.split(x)
        of = _of(system)(t, y, z, a)
        v = system.velocity(t, y, z)
        v_z = None
        if system.v is not None:
            v_z = value_and_jacobian(lambda z: system.velocity(t, y, z), z)[1]
        if self.by_parts and of.masses is not None:
            saddle = PartsSaddle(of.masses, of.C, v_z)
        else:
            saddle = DenseSaddle(of.M, of.C, v_z, self.eliminate)
        at = Linearised(of.b, v, saddle)
        rhs = jnp.concatenate([of.h, -(of.c + w * of.b + q * self.positions(system, t, y))])
        solution, regular = at.saddle.solve(rhs)
        u = solution[: self.nz]
        increment = jnp.concatenate([a * v + q * at.saddle.along(u), (a + w) * u])
        finite = jnp.isfinite(jnp.sum(rhs) + jnp.sum(v)) & at.saddle.finite
        return Evaluation(at, increment, solution, regular, finite)

    def equations(
        self,
        moving: Any,
        fixed: Any,
        t: FloatScalar,
        x: Float[Array, " n"],
        weights: Weights,
        solution: Float[Array, " n2"],
    ) -> tuple[Float[Array, " n2"], Float[Array, " ny"]]:
        """What the solution makes zero, and the increment of `y`."""
        a, q, w = weights
        system = self.system((moving, fixed))
        y, z = self.split(x)
        u, mu = solution[: self.nz], solution[self.nz :]
        assert system.balance is not None
        forces, change, b = system.balance(t, y, z, u, mu, a)
        held = change + w * b + q * self.positions(system, t, y)
        still = system.velocity(t, y, jnp.zeros_like(u))
        moved = a * system.velocity(t, y, z) + q * (system.velocity(t, y, u) - still)
        return jnp.concatenate([forces, held]), moved

    def weighted(
        self,
        parameters: Parameters,
        t: FloatScalar,
        x: Float[Array, " n"],
        weights: Weights,
        solution: Float[Array, " n2"],
        L: Float[Array, " n2"],
        to_y: Float[Array, " ny"],
    ) -> tuple[FloatScalar, Float[Array, " n"], Any]:
        """The gradient of `to_y` times the increment of `y` less `L` times the equations."""
        moving, fixed = parameters

        def of(moving, t, x):
            wrong, moved = self.equations(moving, fixed, t, x, weights, solution)
            return jnp.sum(moved * to_y) - jnp.sum(wrong * L)

        to_moving, to_t, to_x = jax.grad(of, (0, 1, 2))(moving, t, x)
        return to_t, to_x, to_moving


def _of(system: FlatSystem) -> Any:
    assert system.accelerations is not None
    return system.accelerations
