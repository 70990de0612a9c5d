"""SPARK methods as solvers of `diffrax.diffeqsolve`."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import stop_gradient
from .._kkt import LinearSolver, select_linear_solver
from .._results import RESULTS
from .._step import (
    check_newton,
    constant_guess,
    extrapolated_guess,
    factorised_step,
    flat_step,
    interpolated_guess,
    NewtonOptions,
    Stages,
)
from .._system import FlatSystem
from .._tableau import AbstractSparkMethod
from ._base import AbstractConstrainedSolver, Attempt, SolverState
from ._estimate import estimate, no_history


# Extrapolated further than this, stages are no better starting values than the state itself.
LONGEST_EXTRAPOLATION = 3.0


class DiffraxSolver(AbstractConstrainedSolver):
    """A SPARK method as a solver of `diffrax.diffeqsolve`, for a [`jaxspark.ConstrainedTerm`][].

    The state is the pair `(y, z)`. After every step all constraints hold to rounding error. A
    step whose Newton iteration fails is rejected, and tried again smaller, by any adaptive
    controller; with fixed steps it ends the solve. Between steps (`SaveAt(ts=...)`,
    `SaveAt(dense=True)`, events) the solution is found by a shorter step, of full order and on
    the constraints; `dense` keeps the args of every step, too.

    [`jaxspark.solve`][] is the convenient way to use it.

    **Arguments:**

    - `method`: for instance `jaxspark.Gauss(3)`.
    - `newton`: tolerances and Jacobian of the Newton iteration, [`jaxspark.NewtonOptions`][].
    - `linear_solver`: for K2 and K3: `"auto"`, by size and structure (see
        [`jaxspark.explain`][]), or for instance [`jaxspark.AcyclicNullSpace`][].
    - `predict`: whether Newton starts from the last step's extrapolated stages.

    **Raises:** `TypeError` if `method` or `newton` is something else.
    """

    method: AbstractSparkMethod
    newton: NewtonOptions = NewtonOptions()
    linear_solver: LinearSolver | None = None
    predict: bool = eqx.field(default=True, static=True)

    def __check_init__(self):
        if not isinstance(self.method, AbstractSparkMethod):
            raise TypeError(f"method must be a SPARK method such as Gauss(2); got {self.method!r}.")
        check_newton(self.newton, self.linear_solver)

    def order(self, terms: Any) -> int:
        """The order of the method, which the estimate of the error shares."""
        del terms
        return self.method.tableau.order

    def start(self, flat, y, z):
        """The state itself at every stage."""
        return constant_guess(flat, self.method.tableau, y, z), no_history(z)

    def attempt(self, flat, t, y, z, h, before, made_jump) -> Attempt:
        """A step from the last one's stages, extrapolated, with its estimate."""
        tableau = self.method.tableau
        guess = _guess(self, flat, y, z, h, before, made_jump)
        y1, z1, info, jacobian = factorised_step(
            flat, tableau, select_linear_solver(flat, self.linear_solver),
            t, y, z, h, guess, self.newton,
        )  # fmt: skip
        # A lane that has reached its end is stepped with h = 0.
        size = jnp.where(h == 0, 1, h)
        history = jax.tree.map(
            lambda a, b: jnp.where(made_jump, a, b), no_history(z), before.history
        )
        error = estimate(flat, tableau, jacobian, t, (y, z), size, info.stages, history)
        return Attempt(
            y1, z1, error.y, error.z, info.stages, error.history, info.iterations, info.result
        )

    def shorter(self, flat, t, y, z, h, stages, fraction):
        """A step whose iteration starts from the polynomial of the whole step's stages."""
        tableau = self.method.tableau
        guess = interpolated_guess(flat, tableau, y, z, stages, h, fraction)
        y1, z1, info = flat_step(
            flat, tableau, select_linear_solver(flat, self.linear_solver),
            t, y, z, h * fraction, stop_gradient(guess), self.newton,
        )  # fmt: skip
        return y1, z1, info.result == RESULTS.successful


def _guess(
    solver: DiffraxSolver,
    flat: FlatSystem,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    before: SolverState,
    made_jump: BoolScalar,
) -> Stages:
    """The last step's stages, extrapolated, unless there was none or a jump."""
    tableau = solver.method.tableau
    constant = constant_guess(flat, tableau, y0, z0)
    if not solver.predict:
        return constant
    known = before.h != 0
    ratio = h / jnp.where(known, before.h, 1)
    use = known & ~made_jump & (jnp.abs(ratio) <= LONGEST_EXTRAPOLATION)
    further = extrapolated_guess(flat, tableau, before.y, before.z, before.stages, before.h, ratio)
    return jax.tree.map(lambda a, b: jnp.where(use, a, b), further, constant)
