"""The driver of steps whose sizes are known: one scan."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._consistent import (
    ConstraintResiduals,
    flat_multipliers,
    flat_residuals,
    Multipliers,
)
from .._custom_types import Args, State
from .._implicit import nan_derivatives, stop_gradient
from .._kkt import LinearSolver
from .._results import RESULTS
from .._step import check_newton, NewtonOptions
from .._system import AbstractConstrainedSystem, flatten
from .._tableau import RolloutMethod
from ._density import Clock, growth, start_clock
from ._given import GivenTimes, Place
from ._scan import advance_by, scan_steps, Settings, start, time
from ._segments import checked, Checkpoint, keep_stages
from ._solution import Solution
from ._steps import known_steps, KnownSteps


def solve_by_steps(
    system: AbstractConstrainedSystem,
    method: RolloutMethod,
    y0: State,
    z0: State,
    args: Args,
    times: tuple[Any, Any],
    steps: KnownSteps,
    save_every: int | None,
    multipliers: bool,
    checkpoint: Checkpoint,
    newton: NewtonOptions,
    linear_solver: LinearSolver | None,
    predict: bool,
    consistency_tol: float | None,
) -> Solution:
    """See [`jaxspark.solve`][]: with steps whose sizes are known.

    **Arguments:**

    - `y0`, `z0`, `args`: of one dtype.
    - `times`: `t0` and `t1`, the latter `None` where the steps determine it.
    - `save_every`: so many steps; `None` saves the start and the end.

    **Raises:** `ValueError` and `TypeError` for input that can never be right.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*.
    """
    check_newton(newton, linear_solver)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    t0, h, number, pace = known_steps(steps, *times, dtype)
    settings = Settings(
        number, save_every, multipliers, checked(checkpoint), predict, consistency_tol,
        newton, linear_solver,
    )  # fmt: skip
    return _rollout(system, method, y0, z0, args, t0, h, pace, settings)


@eqx.filter_jit
def _rollout(system, method, y0, z0, args, t0, h, pace, settings: Settings) -> Solution:
    flat, y, z = flatten(system, t0, y0, z0, args)
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t0, y, z)))
    clock = grow = given = None
    if isinstance(pace, GivenTimes):
        clock, given = Place(t0, jnp.zeros((), jnp.int32)), pace
    elif pace is not None:
        clock, grow = start_clock(pace, flat, t0, y, args), growth(pace, flat, args)
    carry = start(flat, method, t0, y, z, h, initial, settings, clock)
    advance = advance_by(flat, method, t0, h, settings, grow, given, start=carry)
    advance = keep_stages(advance, settings.checkpoint)
    carry, (ts, ys, zs, late) = scan_steps(advance, carry, t0, h, settings)
    ys, zs = (jax.vmap(nan_derivatives)(x, late) for x in (ys, zs))
    failed = carry.result != RESULTS.successful
    y1, z1 = nan_derivatives(carry.y, failed), nan_derivatives(carry.z, failed)
    if settings.save_every is not None or settings.num_steps:
        ts = jnp.concatenate([t0[None], ts])
        ys, zs = jnp.concatenate([y[None, :], ys]), jnp.concatenate([z[None, :], zs])
    reported = None
    if settings.multipliers:
        chosen = settings.linear_solver

        def at(t, y, z):
            return flat_multipliers(flat, t, y, z, chosen)

        zdot, lam, psi, converged = jax.vmap(at)(ts, ys, zs)
        reported = Multipliers(
            jax.vmap(flat.unravel_lam)(lam),
            jax.vmap(flat.unravel_psi)(psi),
            jax.vmap(flat.unravel_z)(zdot),
            converged,
        )
    return Solution(
        ts=ts,
        ys=jax.vmap(flat.unravel_y)(ys),
        zs=jax.vmap(flat.unravel_z)(zs),
        multipliers=reported,
        t1=time(carry, t0, h),
        y1=flat.unravel_y(y1),
        z1=flat.unravel_z(z1),
        result=carry.result,
        stats=carry.stats,
        initial_residuals=initial,
        step_density=carry.clock.rho if isinstance(carry.clock, Clock) else None,
    )
