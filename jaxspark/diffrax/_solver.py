"""Any method of this package as a solver of `diffrax.diffeqsolve`."""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractAdaptiveSolver, AbstractTerm
from jaxtyping import Array, Float

from .._custom_types import Args, BoolScalar, FloatScalar, RealScalarLike
from .._driver import AbstractSteps, Step, Tolerances
from .._implicit import stop_gradient
from .._jax_internals import ruled
from .._kkt import LinearSolver
from .._motion import AbstractIntegrator
from .._results import RESULTS
from .._solve import integrator_of, Method
from .._step import NewtonOptions
from .._system import FlatSystem
from ._interpolation import Frozen, ShorterStep
from ._term import derivative, pair, Point


class DiffraxSolver(AbstractAdaptiveSolver):
    """A method as a solver of `diffrax.diffeqsolve`, for a [`jaxspark.diffrax.ConstrainedTerm`][].

    The state is the pair `(y, z)`. After every step all constraints hold to rounding error. A step
    that fails is rejected, and tried again smaller, by any adaptive controller; with fixed steps
    it ends the solve. Between steps (`SaveAt(ts=...)`, `SaveAt(dense=True)`, events) the solution
    is found by a shorter step, of full order and on the constraints; `dense` keeps the args of
    every step, too.

    [`jaxspark.solve`][] does the same, and faster: this is for what diffrax alone has, such as its
    controllers of step sizes and its adjoints. Those controllers take every error for one of a
    smooth motion: where rounding errors are as large as the tolerances, steps keep shrinking.

    **Arguments:**

    - `method`: for instance `jaxspark.Gauss(3)`, `jaxspark.DOP853()` or `jaxspark.GGL(...)`. The
        error of the last grows with one power of the step size more than it has stages: give the
        controller an integral coefficient of 1.
    - `newton`, `linear_solver`, `predict`: as for [`jaxspark.solve`][].
    - `rtol`, `atol`: the tolerances of the controller, at which the iteration of `GGL` ends.

    **Raises:** `TypeError` or `ValueError` if `method` is not a method for steps of variable size,
    or an option does not fit it.
    """

    integrator: AbstractIntegrator
    rtol: RealScalarLike
    atol: RealScalarLike
    orders: tuple[int, int] = eqx.field(static=True)

    term_structure: ClassVar = AbstractTerm
    interpolation_cls: ClassVar = ShorterStep

    def __init__(
        self,
        method: Method,
        *,
        newton: NewtonOptions | None = None,
        linear_solver: LinearSolver | None = None,
        predict: bool = True,
        rtol: RealScalarLike = 1e-6,
        atol: RealScalarLike = 1e-6,
    ):
        self.integrator = integrator_of(method, newton, linear_solver, predict)
        self.rtol, self.atol = rtol, atol
        self.orders = self.integrator.orders

    def order(self, terms: Any) -> int:
        """The order of the method, for motions that are not stiff."""
        del terms
        return self.orders[0]

    def error_order(self, terms: Any) -> int:
        """The power of the step size in the estimate of the error."""
        del terms
        return self.orders[1]

    def func(self, terms: Any, t0: Any, y0: Any, args: Args) -> Any:
        """`(y', z')` of the underlying ODE, from which diffrax selects the first step size."""
        return derivative(_point(terms, t0, y0, args))

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Args) -> Any:
        """The state of the solver before the first step."""
        del t1
        at = _point(terms, t0, y0, args)
        flat, x = at.flat()
        self.integrator.check(flat)
        parameters, steps, _ = self._method(flat, x.dtype)
        return steps.start(parameters, at.t, x)[0]

    def step(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        args: Args,
        solver_state: Any,
        made_jump: Any,
    ) -> tuple[Any, Any, dict[str, Any], Any, diffrax.RESULTS]:
        """Make one step, with the estimate of its error, which is infinite if the step fails."""
        at = _point(terms, t0, y0, args)
        h = jnp.asarray(terms.contr(t0, t1), at.t.dtype)
        end, error, note, memory, result = _made(self, at, h, solver_state, jnp.asarray(made_jump))
        inside = dict(
            start=at.t, h=h, y=at.y, z=at.z, note=note,
            problem=Frozen.of((at.system, at.args, self._shorter)),
        )  # fmt: skip
        return end, error, inside, memory, _diffrax_result(result)

    def _method(self, flat: FlatSystem, dtype: Any) -> tuple[Any, AbstractSteps, AbstractSteps]:
        """What the steps of the method are given, and these."""
        own = self.integrator.prepared(flat)
        rtol, atol = (jnp.asarray(x, dtype) for x in (self.rtol, self.atol))
        tolerances = Tolerances(rtol, atol, jnp.asarray(jnp.inf, dtype))
        return self.integrator.parameters(own, tolerances), *self.integrator.steps(own)

    def _shorter(self, at: Point, h: FloatScalar, whole: FloatScalar, note: Any) -> Any:
        """The end of a shorter step; NaN if it fails."""
        flat, x = at.flat()
        parameters, steps, smooth = self._method(flat, x.dtype)
        _, like = steps.start(parameters, at.t, x)
        note = jax.tree.map(lambda a, b: a.astype(b.dtype), note, like)
        memory = stop_gradient(steps.recalled(at.t, whole, x, note))
        made = differentiable_step((steps, smooth), parameters, at.t, h, x, memory)
        good = made.verdict == RESULTS.successful
        return pair(flat, jnp.where(good, made.x1, jnp.nan))


# Compiled: diffrax traces a step many times, this but once.
@eqx.filter_jit
def _made(
    solver: DiffraxSolver, at: Point, h: FloatScalar, memory: Any, made_jump: BoolScalar
) -> tuple[Any, Any, Any, Any, RESULTS]:
    """The end of a step, its error, what derivatives and the next step need, how it went."""
    flat, x = at.flat()
    parameters, steps, smooth = solver._method(flat, x.dtype)
    fresh, _ = steps.start(parameters, at.t, x)
    memory = jax.tree.map(lambda a, b: jnp.where(made_jump, a, b), fresh, memory)
    made = differentiable_step((steps, smooth), parameters, at.t, h, x, stop_gradient(memory))
    good = made.verdict == RESULTS.successful
    error = stop_gradient(jnp.where(good, made.error, jnp.inf))
    # Dense output of diffrax is filled with infinity at first: no integers.
    note = jax.tree.map(lambda a: a.astype(x.dtype), made.note)
    frozen = stop_gradient((note, made.memory))
    return pair(flat, made.x1), pair(flat, error), *frozen, made.verdict


def differentiable_step(
    methods: tuple[AbstractSteps, AbstractSteps],
    parameters: Any,
    t: FloatScalar,
    h: FloatScalar,
    x: Float[Array, " n"],
    memory: Any,
) -> Step:
    """A step whose end has the derivatives that the method gives.

    **Arguments:**

    - `methods`: the steps, and the same by operations that JAX can differentiate.
    - `parameters`, `t`, `h`, `x`, `memory`: as for `AbstractSteps.make`.
    """
    steps, smooth = methods

    def tangent(operand, change, made):
        moving = (operand[0][0], *operand[1:4])
        along = (change[0][0], *change[1:4])
        leaves, structure = jax.tree.flatten(moving)
        given = structure.flatten_up_to(along)
        pairs = zip(leaves, given, strict=True)
        tangents = structure.unflatten([jnp.zeros_like(a) if b is None else b for a, b in pairs])
        parameters, t, h, x, _ = operand
        dx1 = smooth.push(parameters, t, h, x, made.note, tangents, bounded=True)
        return jax.tree.map(lambda _: None, made)._replace(x1=dx1)

    return ruled(lambda o: steps.make(*o), tangent, (parameters, t, h, x, memory))


def _point(terms: Any, t: Any, state: Any, args: Args) -> Point:
    at = terms.vf(t, state, args)
    if not isinstance(at, Point):
        raise TypeError(
            "Solvers of jaxspark need a jaxspark.diffrax.ConstrainedTerm(system) as their term."
        )
    return at


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
