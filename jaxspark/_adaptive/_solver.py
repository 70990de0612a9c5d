"""SPARK methods as solvers of `diffrax.diffeqsolve`."""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractAdaptiveSolver, AbstractTerm
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import Args, BoolScalar, FloatScalar, IntScalar
from .._implicit import stop_gradient
from .._kkt import AbstractLinearSolver, select_linear_solver
from .._results import RESULTS
from .._step import (
    constant_guess,
    extrapolated_guess,
    factorised_step,
    NewtonOptions,
    Stages,
    StepInfo,
)
from .._system import FlatSystem
from .._tableau import AbstractSparkMethod
from ._estimate import estimate, History, no_history
from ._interpolation import Frozen, ShorterStep
from ._term import derivative, Point


# Extrapolated further than this, stages are no better starting values than the state itself.
LONGEST_EXTRAPOLATION = 3.0


class Costs(eqx.Module):
    """What the accepted steps cost, and how well they kept the constraints.

    - `newton_iterations`: of all of them together.
    - `max_newton_iterations`: of the hardest.
    - `max_g`, `max_gdot`, `max_k`: the worst constraint residuals at the end of one.
    """

    newton_iterations: IntScalar
    max_newton_iterations: IntScalar
    max_g: FloatScalar
    max_gdot: FloatScalar
    max_k: FloatScalar


class SolverState(eqx.Module):
    """What one step hands to the next.

    - `t`, `y`, `z`, `stages`, `h`: where the last step started, as vectors, its stages and its
        size; before the first one, `h = 0`.
    - `history`: for the estimate of the error.
    - `costs`: up to here.
    """

    t: FloatScalar
    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    stages: Stages
    h: FloatScalar
    history: History
    costs: Costs


class DiffraxSolver(AbstractAdaptiveSolver):
    """A SPARK method as a solver of `diffrax.diffeqsolve`, for a [`jaxspark.ConstrainedTerm`][].

    The state is the pair `(y, z)`. After every step all constraints hold to rounding error. A
    step whose Newton iteration fails is rejected, and tried again smaller, by any adaptive
    controller; with fixed steps it ends the solve. Between steps (`SaveAt(ts=...)`,
    `SaveAt(dense=True)`, events) the solution is found by a shorter step, of full order and on
    the constraints; `dense` keeps the args of every step, too.

    [`jaxspark.solve`][] is the convenient way to use it.

    **Arguments:**

    - `method`: for instance `jaxspark.Gauss(3)`.
    - `newton`: tolerances of the Newton iteration, [`jaxspark.NewtonOptions`][].
    - `linear_solver`: for K2 and K3; by default chosen by size.
    - `predict`: whether Newton starts from the last step's extrapolated stages.

    **Raises:** `TypeError` if `method` or `newton` is something else.
    """

    method: AbstractSparkMethod
    newton: NewtonOptions = NewtonOptions()
    linear_solver: AbstractLinearSolver | None = None
    predict: bool = eqx.field(default=True, static=True)

    term_structure: ClassVar = AbstractTerm
    interpolation_cls: ClassVar = ShorterStep

    def __check_init__(self):
        if not isinstance(self.method, AbstractSparkMethod):
            raise TypeError(f"method must be a SPARK method such as Gauss(2); got {self.method!r}.")
        if not isinstance(self.newton, NewtonOptions):
            raise TypeError(f"newton must be jaxspark.NewtonOptions(...); got {self.newton!r}.")

    def order(self, terms: Any) -> int:
        """The order of the method, which the estimate of the error shares."""
        del terms
        return self.method.tableau.order

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Args) -> SolverState:
        """Nothing is known yet."""
        del t1
        at = _point(terms, t0, y0, args)
        flat, y, z = at.flat()
        zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), y.dtype)
        stages = constant_guess(flat, self.method.tableau, y, z)
        costs = Costs(zero, zero, none, none, none)
        return SolverState(at.t, y, z, stages, none, no_history(z), costs)

    def func(self, terms: Any, t0: Any, y0: Any, args: Args) -> Any:
        """`(y', z')` of the underlying ODE, from which diffrax selects the first step size."""
        return derivative(_point(terms, t0, y0, args))

    def step(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        args: Args,
        solver_state: SolverState,
        made_jump: Any,
    ) -> tuple[Any, Any, dict[str, Any], SolverState, diffrax.RESULTS]:
        """One step, with the estimate of its error, infinite if it fails."""
        at = _point(terms, t0, y0, args)
        h = jnp.asarray(terms.contr(t0, t1), at.t.dtype)
        end, error, state, result = _step(self, at, h, solver_state, jnp.asarray(made_jump))
        problem = (at.system, args, self.method, self.newton, self.linear_solver)
        inside = dict(
            start=at.t, h=h, y=at.y, z=at.z, stages=state.stages, problem=Frozen.of(problem)
        )
        return end, error, inside, state, _diffrax_result(result)


@eqx.filter_jit
def _step(
    solver: DiffraxSolver, at: Point, h: FloatScalar, before: SolverState, made_jump: BoolScalar
) -> tuple[Any, Any, SolverState, RESULTS]:
    """The end of a step, its error, what the next one needs, and how it went."""
    flat, y0, z0 = at.flat()
    tableau = solver.method.tableau
    guess = _guess(solver, flat, y0, z0, h, before, made_jump)
    y1, z1, info, jacobian = factorised_step(
        flat, tableau, solver.linear_solver or select_linear_solver(flat),
        at.t, y0, z0, h, guess, solver.newton,
    )  # fmt: skip
    # A lane that has reached its end is stepped with h = 0.
    size = jnp.where(h == 0, 1, h)
    error = estimate(tableau, jacobian, z0, size, info.stages, before.history)
    good = info.result == RESULTS.successful
    error_y, error_z = (jnp.where(good, x, jnp.inf) for x in (error.y, error.z))
    costs = _added(before.costs, flat, at.t + h, y1, z1, info)
    frozen = stop_gradient((info.stages, h, error.history, costs))
    return (
        (flat.unravel_y(y1), flat.unravel_z(z1)),
        (flat.unravel_y(error_y), flat.unravel_z(error_z)),
        SolverState(at.t, y0, z0, *frozen),
        info.result,
    )


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


def _point(terms: Any, t: Any, state: Any, args: Args) -> Point:
    at = terms.vf(t, state, args)
    if not isinstance(at, Point):
        raise TypeError(
            "jaxspark.DiffraxSolver needs a jaxspark.ConstrainedTerm(system) as its term."
        )
    return at


def _added(costs: Costs, flat: Any, t: FloatScalar, y: Any, z: Any, info: StepInfo) -> Costs:
    def worst(x):
        return jnp.max(jnp.abs(x), initial=0)

    g, gdot, k = (worst(x) for x in flat_residuals(flat, t, y, z))
    return Costs(
        costs.newton_iterations + info.iterations,
        jnp.maximum(costs.max_newton_iterations, info.iterations),
        jnp.maximum(costs.max_g, g),
        jnp.maximum(costs.max_gdot, gdot),
        jnp.maximum(costs.max_k, k),
    )


def _diffrax_result(result: RESULTS) -> diffrax.RESULTS:
    """The same in diffrax's words."""
    theirs: Any = diffrax.RESULTS
    out = theirs.where(
        result == RESULTS.newton_iteration_limit,
        theirs.nonlinear_max_steps_reached,
        theirs.nonlinear_divergence,
    )
    out = theirs.where(result == RESULTS.singular, theirs.singular, out)
    out = theirs.where(result == RESULTS.nonfinite, theirs.nonfinite, out)
    return theirs.where(result == RESULTS.successful, theirs.successful, out)
