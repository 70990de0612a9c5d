"""One step of a SPARK method, as a pure function."""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import CHECKPOINT_NAME, differentiable_root, stop_gradient
from .._jax_internals import mix, writes_out
from .._kkt import AbstractLinearSolver
from .._results import RESULTS
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._derivatives import implicit_equations, in_one_piece, is_small
from ._newton import modified_newton, NewtonOptions, NewtonResult
from ._predict import constant_guess
from ._residual import stage_residual
from ._stages import Stages


T = TypeVar("T")

# The relative error of a step's derivatives that is as good as none. Not any that Newton's
# iteration may have: such errors add up over the steps, and each way to derive has its own.
DERIVATIVES = 1e-14


class StepInfo(eqx.Module):
    """What is known about a step beyond its result.

    - `stages`: the converged stages (on failure, the starting values).
    - `iterations`: of the modified Newton method.
    - `result`: how it ended.
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
    one_piece: bool = True,
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
    - `one_piece`: whether steps of small systems are written out, which pays over many steps.

    **Returns:** `y1`, `z1`, and a [`jaxspark.StepInfo`][].

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, section 2.
    """
    y1, z1, info, _ = factorised_step(
        system, tableau, linear_solver, t0, y0, z0, h, guess, options, keep_factors, one_piece
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
    one_piece: bool = True,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], StepInfo, ModifiedJacobian]:
    """`flat_step`, and the modified Jacobian that its iteration used."""
    idle = h == 0
    # An idle lane computes with h = 1 and throws the result away: no division by zero.
    h = jnp.where(idle, jnp.ones_like(h), h)
    guess = stop_gradient(guess)

    frozen = stop_gradient((system, t0, y0, z0, h))

    written = one_piece and writes_out() and is_small(system, linear_solver)

    def solve(frozen, guess, idle):
        return _solve_stages(frozen, tableau, linear_solver, guess, idle, options)

    newton, factorised = in_one_piece(solve, written)(frozen, guess, idle)
    # Named too: the backward pass needs the verdict, and must not run Newton to get it.
    good = checkpoint_name(newton.result == RESULTS.successful, CHECKPOINT_NAME)
    finite = constant_guess(frozen[0], tableau, frozen[2], frozen[3])
    # The stages of a failed step need not be finite.
    root = jax.tree.map(lambda a, b: jnp.where(good, a, b), newton.stages, finite)

    kept = factorised.only_if(good) if keep_factors else None
    moved = good & ~idle
    operands = differentiated_if(moved, (system, t0, y0, z0, h))
    residual, linear_solve = implicit_equations(
        tableau, linear_solver, written, min(options.tolerances(y0.dtype)[0], DERIVATIVES)
    )
    stages = differentiable_root(residual, (*operands, kept), root, linear_solve)
    y1 = jnp.where(moved, stages.y[-1], y0)
    z1 = jnp.where(moved, stages.z[-1], z0)
    info = StepInfo(jax.lax.stop_gradient(root), newton.iterations, newton.result)
    return y1, z1, info, factorised


def differentiated_if(moved: BoolScalar, operands: T) -> T:
    """The operands, through which no derivative flows unless the step was made.

    Where none was, the functions may have been evaluated outside their domain: zero
    cotangents times derivatives that are not finite would be NaN for all lanes that share
    the operands.
    """
    arrays, rest = eqx.partition(operands, eqx.is_inexact_array)
    arrays = jax.tree.map(lambda x: jnp.where(moved, x, jax.lax.stop_gradient(x)), arrays)
    return eqx.combine(arrays, rest)


def _solve_stages(
    frozen: tuple[Any, ...],
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    guess: Stages,
    idle: BoolScalar,
    options: NewtonOptions,
) -> tuple[NewtonResult, ModifiedJacobian]:
    """Newton from the guess; if that fails, once more from constant starting values.

    After a jolt (an inconsistent start, a switching force) extrapolated stages can be so far
    off that the iteration, or its Jacobian, is useless. The second attempt is the second
    trip of a loop that otherwise makes one.
    """
    system, t0, y0, z0, h = frozen
    # Where velocities are unknowns, positions follow from them: no equations of their own.
    follow = system.v is None
    residual = stage_residual(system, tableau, t0, y0, z0, h, positions=not follow)
    constant = constant_guess(system, tableau, y0, z0)

    def completed(stages):
        if not follow:
            return stages
        Y = y0[None, :] + h * mix(tableau.alpha, stages.z[:-1])
        return Stages(Y, stages.z, stages.lam, stages.psi)

    def factorise(stages):
        return modified_jacobian(system, tableau, linear_solver, t0, h, stages)

    def attempt(carry):
        tries, _, before, _ = carry
        start = jax.tree.map(lambda a, b: jnp.where(tries == 0, a, b), guess, constant)
        start = completed(start)
        jacobian = factorise(start)
        newton = modified_newton(residual, jacobian, y0, z0, start, idle, options)
        iterations = before.iterations + newton.iterations
        return (
            tries + 1,
            newton.result == RESULTS.successful,
            NewtonResult(completed(newton.stages), iterations, newton.result),
            jacobian,
        )

    none = jnp.zeros((), jnp.int32)
    nothing = NewtonResult(guess, none, RESULTS.newton_diverged)
    empty = jax.tree.map(jnp.zeros_like, jax.eval_shape(factorise, guess))
    start = (none, jnp.asarray(False), nothing, empty)
    _, _, newton, jacobian = jax.lax.while_loop(lambda c: ~c[1] & (c[0] < 2), attempt, start)
    return newton, jacobian
