"""Explicit methods as integrators."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .._driver import AbstractSteps
from .._kkt import saddle_solve
from .._motion import AbstractIntegrator
from .._system import FlatSystem
from ._field import Field
from ._step import ExplicitStep
from ._tableau import ExplicitTableau


# Unknowns beyond which matrices of a system with blocks are too large to be dense.
LARGEST_DENSE = 256


class ExplicitIntegrator(AbstractIntegrator):
    """An explicit method, whose steps are projected onto the constraints."""

    tableau: ExplicitTableau = eqx.field(static=True)
    linear_solver: None = None

    def check(self, flat: FlatSystem) -> None:
        """Constraint forces are ideal, and matrices dense.

        **Raises:** `ValueError`.
        """
        name = self.tableau.name
        if not flat.ideal:
            raise ValueError(
                f"{name} is for constraints whose forces are ideal; this system has friction, r "
                "or reaction of its own. Use jaxspark.Lobatto(3), or in diffrax.diffeqsolve "
                "jaxspark.Projected with jaxspark.UnderlyingTerm."
            )
        size = flat.nz + flat.nlam + flat.npsi
        if flat.structure is not None and size > LARGEST_DENSE:
            raise ValueError(
                f"{name} in jaxspark.solve has dense matrices, too large for {size} velocities "
                "and multipliers. Use jaxspark.Gauss(3), or in diffrax.diffeqsolve "
                "jaxspark.Projected with jaxspark.UnderlyingTerm: both make use of blocks."
            )

    def prepared(self, flat: FlatSystem) -> FlatSystem:
        """Without the forces of its constraints, which the saddle-point problem knows."""
        nothing = (None, None)
        return eqx.tree_at(lambda s: (s.r, s.reaction), flat, nothing, is_leaf=lambda x: x is None)

    def steps(self, flat: FlatSystem) -> tuple[AbstractSteps, AbstractSteps]:
        """By eliminations in loops, and by those of JAX."""
        static = eqx.filter(flat, eqx.is_array, inverse=True)
        return (
            ExplicitStep(Field(static), self.tableau),
            ExplicitStep(Field(static, _differentiable_solve), self.tableau),
        )


def _differentiable_solve(M: Any, C: Any, rhs: Any) -> tuple[Any, Any]:
    nz = C.shape[1]
    solution = jnp.concatenate(saddle_solve(M, C, rhs[:nz], rhs[nz:]))
    return solution, jnp.all(jnp.isfinite(solution))
