"""One step of a SPARK method, as a pure function."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import CHECKPOINT_NAME, differentiable_root, stop_gradient
from .._kkt import AbstractLinearSolver
from .._results import RESULTS
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._attempts import solve_stages
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._derivatives import implicit_equations
from ._full import FullJacobian
from ._newton import NewtonOptions
from ._predict import constant_guess
from ._stages import Stages


T = TypeVar("T")

# The relative error of a step's derivatives that is as good as none. Not any that Newton's
# iteration may have: such errors add up over the steps, and each way to derive has its own.
DERIVATIVES = 1e-14


class StepInfo(eqx.Module):
    """What is known about a step beyond the state at its end.

    - `stages`: the converged [`jaxspark.methods.Stages`][] (on failure, the starting values).
    - `iterations`: the number of Newton's iterations.
    - `result`: how it ended, a member of [`jaxspark.RESULTS`][].
    """

    stages: Stages
    iterations: Int[Array, ""]
    result: RESULTS


def flat_step(
    system: FlatSystem,
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    guess: Stages,
    options: NewtonOptions,
    keep_factors: bool = False,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], StepInfo]:
    """One step from `(t0, y0, z0)` to `t0 + h`.

    A pure function, differentiable with respect to everything but `guess`. With `h = 0` it
    returns the state unchanged. On failure it returns the state unchanged, with the reason.

    **Arguments:**

    - `system`, `tableau`, `linear_solver`: what is solved, and how.
    - `t0`, `y0`, `z0`: a consistent state.
    - `h`: the step size, of either sign.
    - `guess`: starting values of the stages.
    - `options`: of the Newton iteration.
    - `keep_factors`: whether derivatives use the factors of the Newton iteration. If not,
        they factorise again, at the converged stages, and nothing but these need be kept.

    **Returns:** `y1`, `z1`, and a [`jaxspark.methods.StepInfo`][].

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, section 2.
    """
    y1, z1, info, _ = factorised_step(
        system, tableau, linear_solver, t0, y0, z0, h, guess, options, keep_factors
    )
    return y1, z1, info


def factorised_step(
    system: FlatSystem,
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    guess: Stages,
    options: NewtonOptions,
    keep_factors: bool = False,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], StepInfo, ModifiedJacobian]:
    """`flat_step`, and a modified Jacobian of the step."""
    idle = h == 0
    # An idle lane computes with h = 1 and throws the result away: no division by zero.
    h = jnp.where(idle, jnp.ones_like(h), h)
    guess = stop_gradient(guess)

    frozen = stop_gradient((system, t0, y0, z0, h))

    newton, factorised = solve_stages(frozen, tableau, linear_solver, guess, idle, options)
    # Named too: the backward pass needs the verdict, and must not run Newton to get it.
    good = checkpoint_name(newton.result == RESULTS.successful, CHECKPOINT_NAME)
    finite = constant_guess(frozen[0], tableau, frozen[2], frozen[3])
    # The stages of a failed step need not be finite.
    root = jax.tree.map(lambda a, b: jnp.where(good, a, b), newton.stages, finite)

    kept = factorised.only_if(good) if keep_factors else None
    moved = good & ~idle
    operands = differentiated_if(moved, (system, t0, y0, z0, h))
    stages = differentiable_stages(tableau, linear_solver, *operands, root, options, kept)
    y1 = jnp.where(moved, stages.y[-1], y0)
    z1 = jnp.where(moved, stages.z[-1], z0)
    info = StepInfo(jax.lax.stop_gradient(root), newton.iterations, newton.result)
    if isinstance(factorised, ModifiedJacobian):
        return y1, z1, info, factorised
    # Where nothing needs it, it is not computed.
    held, t0, _, _, h = frozen
    modified = modified_jacobian(held, tableau, linear_solver, t0, h, info.stages)
    return y1, z1, info, modified


def differentiable_stages(
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    system: FlatSystem,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    stages: Stages,
    options: NewtonOptions,
    kept: ModifiedJacobian | FullJacobian | None = None,
) -> Stages:
    """Stages that are known, as a function of all that determines them.

    **Arguments:**

    - `kept`: the factors of the iteration that found them; `None` if they are made again.
    - Others: see `flat_step`.
    """
    tolerance = min(options.tolerances(y0.dtype)[0], DERIVATIVES)
    full = options.jacobian == "full"
    residual, linear_solve = implicit_equations(tableau, linear_solver, tolerance, full)
    operands = (system, t0, y0, z0, h, kept)
    return differentiable_root(residual, operands, stages, linear_solve)


def differentiated_if(moved: BoolScalar, operands: T) -> T:
    """The operands, through which no derivative flows unless the step was made.

    Where none was, the functions may have been evaluated outside their domain: zero
    cotangents times derivatives that are not finite would be NaN for all lanes that share
    the operands.
    """
    arrays, rest = eqx.partition(operands, eqx.is_inexact_array)
    arrays = jax.tree.map(lambda x: jnp.where(moved, x, jax.lax.stop_gradient(x)), arrays)
    return eqx.combine(arrays, rest)
