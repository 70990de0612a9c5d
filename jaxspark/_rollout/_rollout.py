"""Fixed steps by `jax.lax.scan`."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import (
    constraint_rank,
    ConstraintResiduals,
    flat_multipliers,
    flat_residuals,
    Multipliers,
)
from .._custom_types import Args, BoolScalar, FloatScalar, RealScalarLike, State
from .._implicit import stop_gradient
from .._kkt import AbstractLinearSolver, select_linear_solver
from .._results import RESULTS
from .._step import (
    constant_guess,
    extrapolated_guess,
    flat_step,
    NewtonOptions,
    Stages,
)
from .._system import AbstractConstrainedSystem, as_state, FlatSystem, flatten
from .._tableau import AbstractSparkMethod
from ._errors import raise_on_failure
from ._segments import (
    check_checkpoint,
    Checkpoint,
    keep_stages,
    segment_length,
    segmented_scan,
)
from ._solution import Solution, Statistics


class _Carry(eqx.Module):
    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    guess: Stages
    result: RESULTS
    stats: Statistics


class _Settings(eqx.Module):
    """Everything static about a rollout."""

    num_steps: int = eqx.field(static=True)
    save_every: int | None = eqx.field(static=True)
    multipliers: bool = eqx.field(static=True)
    checkpoint: Checkpoint = eqx.field(static=True)
    predict: bool = eqx.field(static=True)
    consistency_tol: float | None = eqx.field(static=True)
    newton: NewtonOptions
    linear_solver: AbstractLinearSolver | None


def rollout(
    system: AbstractConstrainedSystem,
    method: AbstractSparkMethod,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    t1: RealScalarLike | None = None,
    h: RealScalarLike | None = None,
    num_steps: int,
    save_every: int | None = 1,
    multipliers: bool = False,
    checkpoint: Checkpoint = "stages",
    newton: NewtonOptions = NewtonOptions(),
    predict: bool = True,
    linear_solver: AbstractLinearSolver | None = None,
    consistency_tol: float | None = -1.0,
    throw: bool = True,
) -> Solution:
    r"""Integrate a constrained system with `num_steps` equal steps.

    Every constraint, the time derivatives of the holonomic ones included, holds to rounding
    error after every step. The result is differentiable, forward and reverse and to second
    order, with respect to `y0`, `z0`, every floating-point leaf of `args` and of `system`,
    `t0` and `t1` or `h`; its derivatives are those of the discrete solution, found by the
    implicit function theorem. It can be vmapped over all of these.

    **Arguments:**

    - `system`: what to integrate, for instance a [`jaxspark.LagrangianSystem`][].
    - `method`: how, for instance `jaxspark.Gauss(2)`.
    - `y0`, `z0`: consistent initial coordinates and velocities, arrays or PyTrees.
    - `args`: passed to the system's functions, any PyTree.
    - `t0`: initial time.
    - `t1` or `h`: final time or step size, one of them; time may run backward.
    - `num_steps`: the number of steps. With 0 the initial state is returned.
    - `save_every`: 1 saves every state, `n` every n-th, `None` only the last. The first
        row is the initial state, the last one the final state.
    - `multipliers`: whether to report the multipliers at the saved times, to full order.
    - `checkpoint`: what the backward pass keeps: `"stages"` the converged stages of
        each step; `"none"` everything, which is rarely faster; `"sqrt"` or a number of steps
        only the first state of each segment, at the price of one more forward pass.
    - `newton`: tolerances of the Newton iteration, [`jaxspark.NewtonOptions`][].
    - `predict`: whether Newton starts from the last step's extrapolated stages.
    - `linear_solver`: for K2 and K3; by default chosen by size.
    - `consistency_tol`: initial constraint residuals above this, times 1 plus the size of the
        state, are refused. Default: the square root of the machine epsilon. `None` skips the
        check.
    - `throw`: whether to raise an error on failure. If `False`, look at `result`. (Under
        `jax.jit` the error is raised by a host callback, which `jax.export` refuses.)

    **Returns:** a [`jaxspark.Solution`][].

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError`
    for input that can never be right.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*.
    """
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    _check(method, num_steps, save_every)
    check_checkpoint(checkpoint)
    t0, h = _times(t0, t1, h, num_steps, dtype)
    args = jax.tree.map(lambda x: jnp.asarray(x, dtype) if isinstance(x, float) else x, args)
    if consistency_tol is not None and consistency_tol < 0:
        consistency_tol = float(jnp.finfo(dtype).eps) ** 0.5
    settings = _Settings(
        num_steps, save_every, multipliers, checkpoint, predict, consistency_tol,
        newton, linear_solver,
    )  # fmt: skip
    solution = _rollout(system, method, y0, z0, args, t0, h, settings)
    return raise_on_failure(solution) if throw else solution


def _check(method: Any, num_steps: Any, save_every: Any) -> None:
    if not isinstance(method, AbstractSparkMethod):
        raise TypeError(f"method must be a SPARK method such as Gauss(2); got {method!r}.")
    for name, value, least in (("num_steps", num_steps, 0), ("save_every", save_every, 1)):
        if name == "save_every" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(
                f"{name} must be a Python integer, at least {least}; got {value!r}."
            )


def _times(t0, t1, h, num_steps, dtype) -> tuple[FloatScalar, FloatScalar]:
    """`t0` and the step size as arrays of the state's dtype."""
    if (t1 is None) == (h is None):
        raise ValueError("Give either the final time t1 or the step size h.")
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
    if known and not bool(jnp.isfinite(h)):
        raise ValueError(f"The step size h must be finite; got {h}.")
    return t0, h


@eqx.filter_jit
def _rollout(system, method, y0, z0, args, t0, h, settings: _Settings) -> Solution:
    flat, y, z = flatten(system, t0, y0, z0, args)
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t0, y, z)))
    carry = _start(flat, method, t0, y, z, h, initial, settings)
    advance = keep_stages(_advance(flat, method, t0, h, settings), settings.checkpoint)
    carry, (ts, ys, zs) = _scan(advance, carry, t0, h, settings)
    if settings.save_every is not None:
        ts = jnp.concatenate([t0[None], ts])
        ys, zs = jnp.concatenate([y[None, :], ys]), jnp.concatenate([z[None, :], zs])
    reported = None
    if settings.multipliers:
        zdot, lam, psi, converged = jax.vmap(flat_multipliers, (None, 0, 0, 0))(
            flat, ts, ys, zs
        )
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
        t1=_time(carry, t0, h),
        y1=flat.unravel_y(carry.y),
        z1=flat.unravel_z(carry.z),
        result=carry.result,
        stats=carry.stats,
        initial_residuals=initial,
        initial_rank=constraint_rank(system, t0, y0, z0, args),
    )


def _start(flat, method, t0, y, z, h, initial, settings) -> _Carry:
    """The state of the scan before the first step, with the verdict on initial values."""
    result = RESULTS.successful
    if settings.num_steps > 0:
        result = RESULTS.where(h == 0, RESULTS.zero_step_size, result)
    g, gdot, k = initial.g, initial.gdot, initial.k
    largest_y, largest_z = _largest(y), _largest(z)
    if settings.consistency_tol is not None:
        tol = settings.consistency_tol
        consistent = _largest(g) <= tol * (1 + largest_y)
        bound = tol * (1 + jnp.maximum(largest_y, largest_z))
        consistent = consistent & (_largest(gdot) <= bound) & (_largest(k) <= bound)
        result = RESULTS.where(consistent, result, RESULTS.inconsistent_initial_values)
    finite = jnp.isfinite(largest_y + largest_z + _largest(g) + _largest(gdot) + _largest(k))
    result = RESULTS.where(finite, result, RESULTS.nonfinite)
    zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), y.dtype)
    stats = Statistics(zero, zero, zero, zero, none, none, none)
    guess = constant_guess(flat, method.tableau, y, z)
    return _Carry(y, z, stop_gradient(guess), result, stats)


def _largest(x: Array) -> FloatScalar:
    return jax.lax.stop_gradient(jnp.max(jnp.abs(x), initial=0))


def _time(carry: _Carry, t0: FloatScalar, h: FloatScalar) -> FloatScalar:
    """Multiplied, not added up: no rounding error accumulates in time."""
    return t0 + carry.stats.num_steps.astype(t0.dtype) * h


def _advance(flat: FlatSystem, method, t0, h, settings: _Settings):
    """The body of the scan: one step, or none once a step has failed."""
    linear_solver = settings.linear_solver or select_linear_solver(flat)
    tableau = method.tableau

    def advance(carry: _Carry, _: Any) -> tuple[_Carry, None]:
        running: BoolScalar = carry.result == RESULTS.successful
        y, z, stats = carry.y, carry.z, carry.stats
        t = _time(carry, t0, h)
        size = jnp.where(running, h, jnp.zeros_like(h))
        y1, z1, info = flat_step(
            flat, tableau, linear_solver, t, y, z, size, carry.guess, settings.newton
        )
        good = info.result == RESULTS.successful
        moved = running & good
        residuals = flat_residuals(flat, t + size, y1, z1)
        g, gdot, k = (jnp.where(moved, _largest(x), 0) for x in residuals)
        stats = Statistics(
            num_steps=stats.num_steps + moved.astype(jnp.int32),
            num_rejected_steps=stats.num_rejected_steps,
            newton_iterations=stats.newton_iterations + info.iterations,
            max_newton_iterations=jnp.maximum(stats.max_newton_iterations, info.iterations),
            max_g=jnp.maximum(stats.max_g, g),
            max_gdot=jnp.maximum(stats.max_gdot, gdot),
            max_k=jnp.maximum(stats.max_k, k),
        )
        if settings.predict:
            guess = extrapolated_guess(flat, tableau, y, z, info.stages, size)
        else:
            guess = constant_guess(flat, tableau, y1, z1)
        guess = jax.tree.map(lambda a, b: jnp.where(moved, a, b), guess, carry.guess)
        result = RESULTS.where(running, info.result, carry.result)
        return _Carry(y1, z1, stop_gradient(guess), result, stop_gradient(stats)), None

    return advance


def _scan(advance, carry: _Carry, t0, h, settings: _Settings):
    """All steps, and the rows that are saved after the initial one."""
    count, every = settings.num_steps, settings.save_every
    segment = segment_length(settings.checkpoint, count)

    def run(carry, steps):
        long = segment if segment is not None and segment < steps else None
        return segmented_scan(advance, carry, jnp.arange(steps), long)[0]

    def save(carry):
        return _time(carry, t0, h), carry.y, carry.z

    def row(steps):
        def body(carry, _):
            carry = run(carry, steps)
            return carry, save(carry)

        return body

    if every is None:
        carry = run(carry, count) if count else carry
        return carry, jax.tree.map(lambda x: x[None], save(carry))
    full, rest = divmod(count, every)
    rows_in_segment = None if segment is None else max(1, segment // every)
    carry, rows = segmented_scan(row(every), carry, jnp.arange(full), rows_in_segment)
    if rest:
        carry, last = row(rest)(carry, None)
        rows = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), rows, last)
    return carry, rows
