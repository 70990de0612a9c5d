"""Adaptive solutions by implicit methods, through diffrax."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import (
    ConstraintResiduals,
    flat_residuals,
    multipliers as multipliers_at,
)
from .._custom_types import Args, BoolScalar, FloatScalar, State
from .._implicit import stop_gradient
from .._kkt import LinearSolver, select_linear_solver
from .._results import RESULTS
from .._rollout import every, initial_result, Solution, Statistics
from .._step import NewtonOptions
from .._stiff import GGL
from .._system import AbstractConstrainedSystem, FlatSystem, flatten
from .._tableau import AbstractSparkMethod
from ._base import AbstractConstrainedSolver
from ._checks import filled_tolerances
from ._controller import PIController
from ._events import as_events
from ._ggl_solver import GGLSolver
from ._segment import Options
from ._segments import Motion, Progress, run_segments
from ._solver import DiffraxSolver
from ._term import ConstrainedTerm


def solve_by_tolerances(
    system: AbstractConstrainedSystem,
    method: AbstractSparkMethod | GGL,
    y0: State,
    z0: State,
    args: Args,
    times: tuple[FloatScalar, FloatScalar],
    ts: Float[Array, " nts"] | None,
    sizes: tuple[Any, Any, Any, Any, Any],
    save_every: int | None,
    dense: bool,
    multipliers: bool,
    limits: tuple[Any, int, int | None],
    adjoint: diffrax.AbstractAdjoint,
    progress_meter: diffrax.AbstractProgressMeter,
    iteration: tuple[NewtonOptions | None, LinearSolver | None, bool],
    consistency_tol: float | None,
) -> Solution:
    """See [`jaxspark.solve`][]: by implicit methods, with steps that a controller chooses.

    **Arguments:**

    - `sizes`: `rtol`, `atol`, `first_step`, `max_step` and a controller, or `None` for each.
    - `limits`: `events`, `max_events` and `max_steps`.
    - `iteration`: `newton`, `linear_solver` and `predict`.

    **Raises:** `ValueError` for input that can never be right.

    Source: `diffrax.diffeqsolve` with [`jaxspark.DiffraxSolver`][] or [`jaxspark.GGLSolver`][].
    """
    rtol, atol, first_step, max_step, controller = sizes
    dtype = times[0].dtype
    if controller is None:
        # As arrays: other values need no compilation.
        rtol, atol = filled_tolerances(rtol, atol, dtype)
        if isinstance(method, GGL) and not isinstance(atol, jax.core.Tracer) and atol == 0:
            raise ValueError("jaxspark.GGL needs atol > 0: coordinates may pass through zero.")
        rtol, atol = (jnp.asarray(x, dtype) for x in (rtol, atol))
        max_step = None if max_step is None else jnp.asarray(max_step, dtype)
        controller = PIController(rtol, atol, dtmax=max_step)
        if isinstance(method, GGL):
            # Its estimate is one of the error of a single step; no limit of its own.
            longest = jnp.inf if max_step is None else max_step
            controller = PIController(rtol, atol, pcoeff=0.0, icoeff=1.0, dtmax=longest)
    elif not (rtol is None and atol is None and max_step is None):
        raise ValueError("Give either a controller as steps or rtol, atol and max_step.")
    newton, linear_solver, predict = iteration
    events, max_events, max_steps = limits
    options = Options(
        _solver(method, newton, linear_solver, predict, controller, dtype),
        controller, as_events(events), adjoint, progress_meter,
        "steps" if save_every is not None else "ends" if ts is None else "ts",
        1 if save_every is None else save_every,
        dense, multipliers, None if max_steps is None else int(max_steps), int(max_events),
        consistency_tol,
    )  # fmt: skip
    if first_step is not None:
        first_step = jnp.asarray(first_step, dtype) * jnp.where(times[1] < times[0], -1, 1)
    return _solve(system, y0, z0, args, *times, ts, first_step, options)


def _solver(
    method: AbstractSparkMethod | GGL,
    newton: NewtonOptions | None,
    linear_solver: LinearSolver | None,
    predict: bool,
    controller: Any,
    dtype: Any,
) -> AbstractConstrainedSolver:
    if not isinstance(method, GGL):
        newton = NewtonOptions(max_iterations=50) if newton is None else newton
        return DiffraxSolver(method, newton, linear_solver, predict)
    if newton is not None or linear_solver is not None:
        raise ValueError(
            "jaxspark.GGL has a Newton iteration of its own, with a fresh matrix every time: "
            "newton and linear_solver are for other methods. GGL(method, newton=...) chooses how."
        )
    while not hasattr(controller, "rtol") and hasattr(controller, "controller"):
        controller = controller.controller
    tolerances = [getattr(controller, name, None) for name in ("rtol", "atol")]
    # Steps that are given have no tolerance: as far as rounding errors are no trouble.
    tight = 1e4 * float(jnp.finfo(dtype).eps)
    rtol, atol = (tight if x is None else x for x in tolerances)
    return GGLSolver(method, rtol, atol)


@eqx.filter_jit
def _solve(system, y0, z0, args, t0, t1, ts, first_step, options: Options) -> Solution:
    flat, y, z = flatten(system, t0, y0, z0, args)
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t0, y, z)))
    first = initial_result(t0, y, z, initial, options.consistency_tol)
    term = ConstrainedTerm(system)
    motion = run_segments(term, t0, t1, y0, z0, args, ts, first_step, first, options)
    times, (ys, zs) = _rows(t0, y0, z0, motion, options)
    finite = jnp.all(jnp.isfinite(jnp.stack([jnp.sum(x) for x in jax.tree.leaves((ys, zs))])))
    end = motion.end
    good = end.result == RESULTS.successful
    result = RESULTS.where(good & ~finite, RESULTS.newton_diverged, end.result)
    if ts is not None:
        # Only where `ts` is traced: else it was checked before.
        outside = jnp.any((ts < jnp.minimum(t0, t1)) | (ts > jnp.maximum(t0, t1)))
        lost = (result == RESULTS.successful) & outside
        result = RESULTS.where(lost, RESULTS.time_outside, result)
    # No step is small enough where the constraints are dependent: that is the reason to report.
    stuck = result == RESULTS.step_size_too_small
    result = RESULTS.where(stuck & ~_regular(flat, end, ~stuck), RESULTS.singular, result)
    reported = None
    if options.multipliers:
        chosen = getattr(options.solver, "linear_solver", None)
        reported = multipliers_at(system, times, ys, zs, args, linear_solver=chosen)
    costs = end.costs
    stats = Statistics(
        end.accepted, end.rejected, end.failed,
        costs.newton_iterations, costs.max_newton_iterations,
        costs.max_g, costs.max_gdot, costs.max_k,
    )  # fmt: skip
    initial = ConstraintResiduals(
        flat.unravel_lam(initial.g), flat.unravel_lam(initial.gdot), flat.unravel_psi(initial.k)
    )
    return Solution(
        times, ys, zs, reported, end.t, end.y, end.z, result, stop_gradient(stats),
        initial, events=motion.events, interpolation=motion.interpolation,
    )  # fmt: skip


def _regular(flat: FlatSystem, end: Progress, known: BoolScalar) -> BoolScalar:
    """Whether K2 is regular at the end of the motion, without regard to forces of friction.

    In a loop of at most one trip, so that it costs nothing where it is `known`.
    """
    y, z = (jax.flatten_util.ravel_pytree(x)[0] for x in (end.y, end.z))
    lam, psi = jnp.zeros(flat.nlam, y.dtype), jnp.zeros(flat.npsi, y.dtype)
    solver = select_linear_solver(flat)
    flat, t, y, z = stop_gradient((flat, end.t, y, z))

    def body(carry):
        # What the loop changes, the compiler cannot hoist out of it.
        _, _, y = carry
        factors = solver.factor(solver.blocks(flat, t, y, z, lam, psi))
        return jnp.asarray(True), solver.regular(factors), jnp.zeros_like(y)

    return jax.lax.while_loop(lambda carry: ~carry[0], body, (known, known, y))[1]


def _rows(t0, y0, z0, motion: Motion, options: Options):
    """The saved rows; where the motion had ended before, they repeat its end."""
    end = motion.end
    if options.save == "ends":
        return jax.tree.map(lambda a, b: jnp.stack([a, b]), (t0, (y0, z0)), (end.t, (end.y, end.z)))
    filled = jnp.isfinite(motion.ts)

    def fill(row, last):
        return jnp.where(filled.reshape(-1, *[1] * (row.ndim - 1)), row, last[None])

    rows = fill(motion.ts, end.t), jax.tree.map(fill, motion.rows, (end.y, end.z))
    return every(options.save_every, rows)
