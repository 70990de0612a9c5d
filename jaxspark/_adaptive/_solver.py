"""SPARK methods as solvers of `diffrax.diffeqsolve`."""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractAdaptiveSolver, AbstractTerm
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import Args, FloatScalar, IntScalar
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
from .._tableau import AbstractSparkMethod
from ._estimate import estimate, History, no_history
from ._interpolation import Frozen, ShorterStep
from ._term import Bound, ConstrainedTerm


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
        at = _bound(terms, t0, y0, args)
        dtype = at.y.dtype
        zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), dtype)
        stages = constant_guess(at.system, self.method.tableau, at.y, at.z)
        return SolverState(
            at.t, at.y, at.z, stages, none, no_history(at.z), Costs(zero, zero, none, none, none)
        )

    def func(self, terms: Any, t0: Any, y0: Any, args: Args) -> Any:
        """`(y', z')` of the underlying ODE, from which diffrax selects the first step size."""
        one = jnp.ones((), jnp.result_type(*jax.tree.leaves(y0)))
        return terms.prod(terms.vf(t0, y0, args), one)

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
        at = _bound(terms, t0, y0, args)
        flat, tableau = at.system, self.method.tableau
        h = jnp.asarray(terms.contr(t0, t1), at.y.dtype)
        solver = self.linear_solver or select_linear_solver(flat)
        guess = self._guess(at, h, solver_state, made_jump)
        y1, z1, info, jacobian = factorised_step(
            flat, tableau, solver, at.t, at.y, at.z, h, guess, self.newton
        )
        # A lane that has reached its end is stepped with h = 0.
        size = jnp.where(h == 0, 1, h)
        error = estimate(tableau, jacobian, at.z, size, info.stages, solver_state.history)
        good = info.result == RESULTS.successful
        error_y, error_z = (jnp.where(good, x, jnp.inf) for x in (error.y, error.z))
        costs = _added(solver_state.costs, flat, at.t + h, y1, z1, info)
        frozen = stop_gradient((info.stages, h, error.history, costs))
        state = SolverState(at.t, at.y, at.z, *frozen)
        system = _constrained(terms).system
        problem = (system, args, self.method, self.newton, self.linear_solver)
        inside = dict(
            start=at.t, h=h, y=flat.unravel_y(at.y), z=flat.unravel_z(at.z),
            stages=info.stages, problem=Frozen.of(problem),
        )  # fmt: skip
        return (
            (flat.unravel_y(y1), flat.unravel_z(z1)),
            (flat.unravel_y(error_y), flat.unravel_z(error_z)),
            inside,
            state,
            _diffrax_result(info.result),
        )

    def _guess(self, at: Bound, h: FloatScalar, before: SolverState, made_jump: Any) -> Stages:
        """The last step's stages, extrapolated, unless there was none or a jump."""
        tableau = self.method.tableau
        constant = constant_guess(at.system, tableau, at.y, at.z)
        if not self.predict:
            return constant
        known = before.h != 0
        ratio = h / jnp.where(known, before.h, 1)
        use = known & ~jnp.asarray(made_jump) & (jnp.abs(ratio) <= LONGEST_EXTRAPOLATION)
        further = extrapolated_guess(
            at.system, tableau, before.y, before.z, before.stages, before.h, ratio
        )
        return jax.tree.map(lambda a, b: jnp.where(use, a, b), further, constant)


def _bound(terms: Any, t: Any, state: Any, args: Args) -> Bound:
    at = terms.vf(t, state, args)
    if not isinstance(at, Bound):
        raise TypeError(
            "jaxspark.DiffraxSolver needs a jaxspark.ConstrainedTerm(system) as its term."
        )
    return at


def _constrained(terms: Any) -> ConstrainedTerm:
    """The user's term, in whatever diffrax has wrapped it."""
    while not isinstance(terms, ConstrainedTerm):
        terms = terms.term
    return terms


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
