"""One step for those who write their own loop."""

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import Args, RealScalarLike, State
from .._kkt import LinearSolver, select_linear_solver
from .._step import (
    check_newton,
    constant_guess,
    NewtonOptions,
    solves_for_multipliers,
    Stages,
    StepInfo,
)
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from .._tableau import RolloutMethod
from ._parts import whole_step


def step(
    system: AbstractConstrainedSystem,
    method: RolloutMethod,
    t0: RealScalarLike,
    y0: State,
    z0: State,
    h: RealScalarLike,
    guess: Stages | None = None,
    args: Args = None,
    *,
    ratio: RealScalarLike = 1.0,
    newton: NewtonOptions = NewtonOptions(),
    linear_solver: LinearSolver | None = None,
) -> tuple[State, State, Stages, StepInfo]:
    """Make one step of a SPARK method, as a pure function.

    It is differentiable with respect to everything but `guess`, in loops and scans too. A step of
    size 0 returns the state unchanged, and has no derivative with respect to `h`. A step that
    fails returns the state unchanged, too, with the reason in the result of its
    [`jaxspark.methods.StepInfo`][]: it raises no error.

    **Arguments:**

    - `system`: the constrained system.
    - `method`: a SPARK method. A step of a [`jaxspark.Composition`][] makes all of its parts; its
        information has the stages of the last.
    - `t0`, `y0`, `z0`: a time and a consistent state.
    - `h`: the step size, of either sign.
    - `guess`: starting values for the stages, [`jaxspark.methods.Stages`][] from the step before;
        `None` for constant ones.
    - `args`: passed to the system's functions.
    - `ratio`: the size of the next step over `h`, for its starting values.
    - `newton`: tolerances and Jacobian of the Newton iteration.
    - `linear_solver`: for K2 and K3: `"auto"`, by size and structure (see
        [`jaxspark.linear.explain`][]), or for instance [`jaxspark.linear.AcyclicNullSpace`][].

    **Returns:** `y1`, `z1`, the starting values for the next step, and a
    [`jaxspark.methods.StepInfo`][].

    **Raises:** `ValueError` and `TypeError` for invalid input.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, section 2.
    """
    if not isinstance(method, RolloutMethod):
        raise TypeError(
            f"method must be a SPARK method such as Gauss(2); got {method!r}. Methods of "
            "jaxspark.GGL are for jaxspark.solve."
        )
    check_newton(newton, linear_solver)
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    t0, h = jnp.asarray(t0, dtype), jnp.asarray(h, dtype)
    return _step(
        system, method, t0, y0, z0, h, guess, as_args(args, dtype), ratio, newton, linear_solver
    )


@eqx.filter_jit
def _step(system, method, t0, y0, z0, h, guess, args, ratio, newton, linear_solver):
    flat, y, z = flatten(system, t0, y0, z0, args)
    # Of a single part the stages are reported: all of them must have been found.
    structured = linear_solver is None and len(method.parts) > 1
    structured = structured and solves_for_multipliers(flat, method.tableau, t0, y, z)
    if guess is None:
        guess = constant_guess(flat, method.tableau, y, z)
    solver = select_linear_solver(flat, linear_solver)
    steps = whole_step(flat, method, solver, newton, False, True, structured)
    y1, z1, follow, info = steps(t0, y, z, h, guess)
    following = jax.lax.stop_gradient(follow(ratio))
    return flat.unravel_y(y1), flat.unravel_z(z1), following, info
