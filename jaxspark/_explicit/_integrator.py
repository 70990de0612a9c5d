"""Explicit methods as integrators."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .._driver import AbstractSteps
from .._kkt import (
    BlockLinearSolver,
    LinearSolver,
    saddle_in_loops,
    saddle_solve,
    select_linear_solver,
)
from .._motion import AbstractIntegrator
from .._system import FlatSystem
from ._field import BlockField, Field
from ._method import ExplicitMethod
from ._step import ExplicitStep
from ._structured import StructuredField


# Unknowns up to which a dense matrix is as fast for a system of blocks, and compiles faster.
LARGEST_DENSE = 36


class ExplicitIntegrator(AbstractIntegrator):
    """An explicit method, whose steps are projected onto the constraints.

    - `linear_solver`: of systems of blocks, which are otherwise used where there are many.
    """

    method: ExplicitMethod = eqx.field(static=True)
    linear_solver: LinearSolver | None = None

    @property
    def orders(self) -> tuple[int, int]:
        """Those of the method and of its estimate."""
        return self.method.order, self.method.error_order

    def check(self, flat: FlatSystem) -> None:
        """Constraint forces are ideal.

        **Raises:** `ValueError`.
        """
        if not flat.ideal:
            raise ValueError(
                f"{self.method} is for constraints whose forces are ideal; this system has "
                "friction, r or reaction of its own. Use jaxspark.Gauss(3), or "
                "jaxspark.Lobatto(3) for friction."
            )
        if self.linear_solver is not None and self._blocks(flat) is None:
            raise ValueError(
                f"{self.method} eliminates dense matrices itself: a linear_solver is for systems "
                "of blocks, and of blocks, such as jaxspark.linear.AcyclicNullSpace()."
            )

    def prepared(self, flat: FlatSystem) -> FlatSystem:
        """Without the forces of its constraints, which the saddle-point problem knows."""
        nothing = (None, None)
        return eqx.tree_at(lambda s: (s.r, s.reaction), flat, nothing, is_leaf=lambda x: x is None)

    def steps(self, flat: FlatSystem) -> tuple[AbstractSteps, AbstractSteps]:
        """By eliminations in loops, and by those of JAX."""
        static = eqx.filter(flat, eqx.is_array, inverse=True)
        blocks = self._blocks(flat)
        if blocks is not None:
            steps = ExplicitStep(BlockField(static, blocks), self.method)
            return steps, steps
        if flat.accelerations is None:
            return (
                ExplicitStep(Field(static), self.method),
                ExplicitStep(Field(static, _differentiable_solve), self.method),
            )
        return (
            ExplicitStep(StructuredField(static, _of_full_masses), self.method),
            ExplicitStep(StructuredField(static, _differentiable_solve, False), self.method),
        )

    def _blocks(self, flat: FlatSystem) -> BlockLinearSolver | None:
        """How blocks are eliminated, if they are."""
        small = flat.nz + flat.nlam + flat.npsi <= LARGEST_DENSE
        if self.linear_solver is None and not flat.redundant and (flat.structure is None or small):
            return None
        solver = select_linear_solver(flat, self.linear_solver)
        return solver if isinstance(solver, BlockLinearSolver) else None


def _of_full_masses(M: Any, C: Any, rhs: Any) -> tuple[Any, Any]:
    return saddle_in_loops(M, C, rhs, full=True)


def _differentiable_solve(M: Any, C: Any, rhs: Any) -> tuple[Any, Any]:
    nz = C.shape[1]
    solution = jnp.concatenate(saddle_solve(M, C, rhs[:nz], rhs[nz:]))
    return solution, jnp.all(jnp.isfinite(solution))
