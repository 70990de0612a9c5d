"""What all solvers of this project share when `diffrax.diffeqsolve` drives them."""

import abc
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractAdaptiveSolver, AbstractTerm
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import Args, BoolScalar, FloatScalar, IntScalar
from .._implicit import CHECKPOINT_NAME, stop_gradient
from .._results import RESULTS
from .._system import FlatSystem
from ._interpolation import Frozen, ShorterStep
from ._term import derivative, Point


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
    stages: Any
    h: FloatScalar
    history: Any
    costs: Costs


class Attempt(eqx.Module):
    """A step that may be kept.

    - `y`, `z`: its end, as vectors, on the constraints.
    - `error_y`, `error_z`: the estimate of its error.
    - `stages`, `history`: for the next one.
    - `iterations`, `result`: of Newton's method.
    """

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    error_y: Float[Array, " ny"]
    error_z: Float[Array, " nz"]
    stages: Any
    history: Any
    iterations: IntScalar
    result: RESULTS


class AbstractConstrainedSolver(AbstractAdaptiveSolver):
    """A one-step method for constrained systems, for a [`jaxspark.ConstrainedTerm`][].

    The state is the pair `(y, z)`. After every step all constraints hold to rounding error. A
    step whose Newton iteration fails is rejected, and tried again smaller, by any adaptive
    controller; with fixed steps it ends the solve. Between steps the solution is found by a
    shorter step.
    """

    term_structure: ClassVar = AbstractTerm
    interpolation_cls: ClassVar = ShorterStep

    @abc.abstractmethod
    def start(
        self, flat: FlatSystem, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> tuple[Any, Any]:
        """Stages and history before the first step; only their shapes matter."""

    @abc.abstractmethod
    def attempt(
        self,
        flat: FlatSystem,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        h: FloatScalar,
        before: SolverState,
        made_jump: BoolScalar,
    ) -> Attempt:
        """A step of size `h`; if `h` is 0, the state unchanged."""

    @abc.abstractmethod
    def shorter(
        self,
        flat: FlatSystem,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        h: FloatScalar,
        stages: Any,
        fraction: FloatScalar,
    ) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
        """The end of a step of size `h fraction`, and whether it was found.

        `stages` are those of the step of size `h`.
        """

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Args) -> SolverState:
        """Nothing is known yet."""
        del t1
        at = _point(terms, t0, y0, args)
        flat, y, z = at.flat()
        zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), y.dtype)
        stages, history = self.start(flat, y, z)
        costs = Costs(zero, zero, none, none, none)
        return SolverState(at.t, y, z, stages, none, history, costs)

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
        inside = dict(
            start=at.t, h=h, y=at.y, z=at.z, stages=state.stages,
            problem=Frozen.of((at.system, args, self)),
        )  # fmt: skip
        return end, error, inside, state, _diffrax_result(result)


@eqx.filter_jit
def _step(
    solver: AbstractConstrainedSolver,
    at: Point,
    h: FloatScalar,
    before: SolverState,
    made_jump: BoolScalar,
) -> tuple[Any, Any, SolverState, RESULTS]:
    """The end of a step, its error, what the next one needs, and how it went."""
    flat, y0, z0 = at.flat()
    new = solver.attempt(flat, at.t, y0, z0, h, before, made_jump)
    good = new.result == RESULTS.successful
    error = tuple(jnp.where(good, x, jnp.inf) for x in (new.error_y, new.error_z))
    # What decides about the next step is kept for reverse mode: computed again, it might be
    # rounded otherwise.
    error_y, error_z, result = jax.tree.map(
        lambda x: checkpoint_name(x, CHECKPOINT_NAME), (*stop_gradient(error), new.result)
    )
    costs = _added(before.costs, flat, at.t + h, new)
    frozen = stop_gradient((new.stages, h, new.history, costs))
    return (
        (flat.unravel_y(new.y), flat.unravel_z(new.z)),
        (flat.unravel_y(error_y), flat.unravel_z(error_z)),
        SolverState(at.t, y0, z0, *frozen),
        result,
    )


def _point(terms: Any, t: Any, state: Any, args: Args) -> Point:
    at = terms.vf(t, state, args)
    if not isinstance(at, Point):
        raise TypeError(
            "The solvers of jaxspark need a jaxspark.ConstrainedTerm(system) as their term."
        )
    return at


def _added(costs: Costs, flat: FlatSystem, t: FloatScalar, new: Attempt) -> Costs:
    def worst(x):
        return jnp.max(jnp.abs(x), initial=0)

    g, gdot, k = (worst(x) for x in flat_residuals(flat, t, new.y, new.z))
    return Costs(
        costs.newton_iterations + new.iterations,
        jnp.maximum(costs.max_newton_iterations, new.iterations),
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
