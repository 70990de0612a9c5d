"""The public driver: input checked, scan run, result turned into an error on request."""

from numbers import Integral
from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .._consistent import (
    constraint_rank,
    ConstraintResiduals,
    flat_multipliers,
    flat_residuals,
    Multipliers,
)
from .._custom_types import Args, FloatScalar, RealScalarLike, State
from .._implicit import stop_gradient
from .._kkt import LinearSolver
from .._step import check_newton, NewtonOptions
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from .._tableau import RolloutMethod
from ._density import Clock, growth, start_clock, StepDensity
from ._errors import raise_on_failure
from ._given import given_times, GivenTimes, Place
from ._initial import consistency_tolerance
from ._scan import advance_by, scan_steps, Settings, start, time
from ._segments import checked, Checkpoint, keep_stages
from ._solution import Solution


def rollout(
    system: AbstractConstrainedSystem,
    method: RolloutMethod,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    t1: RealScalarLike | None = None,
    h: RealScalarLike | None = None,
    num_steps: int | np.integer | None = None,
    ts: Any = None,
    save_every: int | np.integer | None = 1,
    multipliers: bool = False,
    density: StepDensity | None = None,
    checkpoint: Checkpoint = "stages",
    newton: NewtonOptions = NewtonOptions(),
    predict: bool = True,
    linear_solver: LinearSolver | None = None,
    consistency_tol: float | Literal["auto"] | None = "auto",
    throw: bool = True,
) -> Solution:
    r"""Integrate a constrained system with equal steps, or with steps between given times.

    Every constraint, the time derivatives of the holonomic ones included, holds to rounding
    error after every step. The result is differentiable, forward and reverse and to second
    order, with respect to `y0`, `z0`, every floating-point leaf of `args` and of `system`,
    `t0` and `t1` or `h`; its derivatives are those of the discrete solution, found by the
    implicit function theorem. It can be vmapped over all of these.

    **Arguments:**

    - `system`: what to integrate, for instance a [`jaxspark.LagrangianSystem`][].
    - `method`: how, for instance `jaxspark.Gauss(2)`, or a [`jaxspark.Composition`][].
    - `y0`, `z0`: consistent initial coordinates and velocities, arrays or PyTrees.
    - `args`: passed to the system's functions, any PyTree.
    - `t0`: initial time.
    - `t1` or `h`: final time or step size, one of them; time may run backward.
    - `num_steps`: the number of steps. With 0 the initial state is returned.
    - `ts`: in place of all these the times of all steps, that of the initial state first, shape
        `(n,)`, increasing or decreasing. Where two are equal no step is made, so that rollouts
        of different lengths can be padded to one and batched.
    - `save_every`: 1 saves every state, `n` every n-th, `None` only the last. The first
        row is the initial state, the last one the final state.
    - `multipliers`: whether to report the multipliers at the saved times, to full order.
    - `density`: a [`jaxspark.StepDensity`][] for steps of variable size, reversible ones; then
        `h` is their unit.
    - `checkpoint`: what the backward pass keeps: `"stages"` the converged stages of
        each step; `"none"` the linearised equations and the factors of K2 and K3 too, which
        is faster for some ten coordinates; `"sqrt"` or a number of steps only the first state
        of each segment, at the price of one more forward pass.
    - `newton`: tolerances and Jacobian of the Newton iteration, [`jaxspark.NewtonOptions`][].
    - `predict`: whether Newton starts from the last step's extrapolated stages.
    - `linear_solver`: for K2 and K3: `"auto"`, by size and structure (see
        [`jaxspark.explain`][]), or for instance [`jaxspark.AcyclicNullSpace`][]. By default steps
        of `Lobatto(2)` solve for multipliers alone, where the system allows it.
    - `consistency_tol`: initial constraint residuals above this, times 1 plus the size of the
        state, are refused. `"auto"`: the square root of the machine epsilon. `None` skips
        the check.
    - `throw`: whether to raise an error on failure. If `False`, look at `result`. (Under
        `jax.jit` and `jax.vmap` the error is raised at run time, by a host callback, with the
        reason alone, for a whole batch if one lane fails; `jax.export` refuses it.)

    **Returns:** a [`jaxspark.Solution`][].

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError`
    for input that can never be right.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*.
    """
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    given = None
    if ts is not None:
        others = {"t1": t1, "h": h, "num_steps": num_steps, "density": density}
        given, num_steps = given_times(ts, others, dtype)
    check_newton(newton, linear_solver)
    _check(method, num_steps, save_every)
    checkpoint = checked(checkpoint)
    if given is None:
        t0, h = _times(t0, t1, h, num_steps, dtype)
    else:
        # Without a size of their own: initial checks take this one.
        t0, h = given.ts[0], jnp.ones((), dtype)
    density = _checked_density(density, t1, dtype)
    args = as_args(args, dtype)
    tolerance = consistency_tolerance(consistency_tol, dtype)
    save_every = None if save_every is None else int(save_every)
    settings = Settings(
        int(num_steps or 0), save_every, multipliers, checkpoint, predict, tolerance,
        newton, linear_solver,
    )  # fmt: skip
    solution = _rollout(system, method, y0, z0, args, t0, h, given or density, settings)
    if not throw:
        return solution
    return raise_on_failure(
        solution, lambda end: constraint_rank(system, end.t1, end.y1, end.z1, stop_gradient(args))
    )


def _check(method: Any, num_steps: Any, save_every: Any) -> None:
    if not isinstance(method, RolloutMethod):
        raise TypeError(
            f"method must be a SPARK method such as Gauss(2); got {method!r}. Methods of "
            "jaxspark.GGL are for jaxspark.solve."
        )
    for name, value, least in (("num_steps", num_steps, 0), ("save_every", save_every, 1)):
        if name == "save_every" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a Python integer, at least {least}; got {value!r}.")


def _checked_density(density: Any, t1: Any, dtype: Any) -> StepDensity | None:
    if density is None:
        return None
    if not isinstance(density, StepDensity):
        raise TypeError(f"density must be jaxspark.StepDensity(...); got {density!r}.")
    if t1 is not None:
        raise ValueError("With a density the final time follows from the motion: give h, not t1.")
    if density.initial is None:
        return density
    return StepDensity(density.scale, jnp.asarray(density.initial, dtype))


def _times(t0, t1, h, num_steps, dtype) -> tuple[FloatScalar, FloatScalar]:
    """`t0` and the step size as arrays of the state's dtype."""
    if (t1 is None) == (h is None):
        raise ValueError("Give either the final time t1 or the step size h.")
    _check_finite("time t0", t0)
    _check_finite("time t1", t1)
    _check_finite("step size h", h)
    t0 = jnp.asarray(t0, dtype)
    if h is None:
        h = (jnp.asarray(t1, dtype) - t0) / max(num_steps, 1)
    h = jnp.asarray(h, dtype)
    if t0.ndim or h.ndim:
        raise ValueError("t0, t1 and h must be scalars; use jax.vmap for a batch of them.")
    known = not isinstance(h, jax.core.Tracer)
    if known and num_steps > 0 and not bool(h != 0):
        raise ValueError(
            "The step size h is zero, or t1 equals t0: time cannot advance. To get the "
            "initial state back, use num_steps=0."
        )
    return t0, h


def _check_finite(name: str, value: Any) -> None:
    if value is None or isinstance(value, jax.core.Tracer):
        return
    if not np.all(np.isfinite(np.asarray(value))):
        raise ValueError(f"The {name} must be finite; got {value}.")


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
    carry, (ts, ys, zs) = scan_steps(advance, carry, t0, h, settings)
    if settings.save_every is not None:
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
        y1=flat.unravel_y(carry.y),
        z1=flat.unravel_z(carry.z),
        result=carry.result,
        stats=carry.stats,
        initial_residuals=initial,
        step_density=carry.clock.rho if isinstance(carry.clock, Clock) else None,
    )
