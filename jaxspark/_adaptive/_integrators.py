"""Implicit methods as integrators."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .._consistent import flat_residuals
from .._custom_types import BoolScalar, FloatScalar
from .._driver import AbstractSteps, Progress, Tolerances
from .._implicit import lazily
from .._kkt import LinearSolver, select_linear_solver
from .._motion import AbstractIntegrator, parameters_of
from .._results import RESULTS
from .._step import NewtonOptions
from .._stiff import GGL
from .._system import FlatSystem
from .._tableau import AbstractSparkMethod
from ._ggl_steps import GGLSteps
from ._spark_steps import SparkSteps


# In units of the step size that was too small.
AHEAD = 8


class ImplicitIntegrator(AbstractIntegrator):
    """What implicit methods have in common."""

    def parameters(self, flat: FlatSystem, tolerances: Tolerances) -> Any:
        """The arrays of the system, and the tolerances."""
        moving, fixed = parameters_of(flat)
        return moving, (fixed, (tolerances.rtol, tolerances.atol))

    def reason(
        self, flat: FlatSystem, end: Progress, sign: FloatScalar, result: RESULTS
    ) -> RESULTS:
        """Smaller steps did not help: forces that end there, or dependent constraints, are why."""
        for code in (RESULTS.newton_diverged, RESULTS.newton_iteration_limit):
            result = RESULTS.where(result == code, RESULTS.step_size_too_small, result)
        stuck = result == RESULTS.step_size_too_small
        result = RESULTS.where(stuck & ~_finite_ahead(flat, end, sign), RESULTS.nonfinite, result)
        stuck = result == RESULTS.step_size_too_small
        return RESULTS.where(stuck & ~_regular(flat, end, ~stuck), RESULTS.singular, result)


class SparkIntegrator(ImplicitIntegrator):
    """A SPARK method, with its options: see [`jaxspark.solve`][]."""

    method: AbstractSparkMethod
    newton: NewtonOptions
    linear_solver: LinearSolver | None
    predict: bool = eqx.field(static=True)

    @property
    def orders(self) -> tuple[int, int]:
        """That of the method, which the estimate of the error shares."""
        return self.method.tableau.order, self.method.tableau.order

    def steps(self, flat: FlatSystem) -> tuple[AbstractSteps, AbstractSteps]:
        """Steps, which JAX can differentiate."""
        static = eqx.filter(flat, eqx.is_array, inverse=True)
        steps = SparkSteps(static, self.method, self.newton, self.linear_solver, self.predict)
        return steps, steps


class GGLIntegrator(ImplicitIntegrator):
    """A stiff method."""

    method: GGL = eqx.field(static=True)
    linear_solver: None = None

    @property
    def orders(self) -> tuple[int, int]:
        """Those for motions that are not stiff; the estimate has a stage more than the method."""
        tableau = self.method.method.tableau
        return tableau.order, tableau.stages + 1

    def check(self, flat: FlatSystem) -> None:
        """Constraints are independent.

        **Raises:** `ValueError`.
        """
        if flat.redundant:
            raise ValueError(
                "jaxspark.GGL is for constraints that are independent: use Gauss, RadauIIA, "
                "Lobatto or DOP853 for a system of jaxspark.linear.redundant."
            )

    def parameters(self, flat: FlatSystem, tolerances: Tolerances) -> Any:
        """The arrays of the system, and the tolerances.

        Equal steps have none: Newton's iteration goes as far as rounding errors are no trouble.
        """
        moving, (fixed, given) = super().parameters(flat, tolerances)
        tight = 1e4 * float(jnp.finfo(tolerances.atol.dtype).eps)
        finite = jnp.isfinite(tolerances.atol)
        return moving, (fixed, tuple(jnp.where(finite, x, tight) for x in given))

    def steps(self, flat: FlatSystem) -> tuple[AbstractSteps, AbstractSteps]:
        """Steps, which JAX can differentiate."""
        steps = GGLSteps(eqx.filter(flat, eqx.is_array, inverse=True), self.method)
        return steps, steps


def _finite_ahead(flat: FlatSystem, end: Progress, sign: FloatScalar) -> BoolScalar:
    """Whether force and constraints are finite a few of the smallest steps ahead.

    Newton's iteration meets what they are there, or does not, as rounding errors have it.
    """
    h = AHEAD * end.control.h * sign
    t, y, z = end.t, end.x[: flat.ny], end.x[flat.ny :]
    ahead = t + h, y + h * flat.velocity(t, y, z), z
    values = (flat.f(*ahead), *flat_residuals(flat, *ahead))
    return jnp.isfinite(sum(jnp.sum(x) for x in values))


def _regular(flat: FlatSystem, end: Progress, known: BoolScalar) -> BoolScalar:
    """Whether K2 is regular at the end of the motion, without regard to forces of friction."""
    y, z = end.x[: flat.ny], end.x[flat.ny :]
    lam, psi = jnp.zeros(flat.nlam, y.dtype), jnp.zeros(flat.npsi, y.dtype)
    solver = select_linear_solver(flat)

    def regular(y):
        return solver.regular(solver.factor(solver.blocks(flat, end.t, y, z, lam, psi)))

    return lazily(~known, regular, y, known)
