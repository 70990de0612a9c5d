"""Adaptive solutions for those who do not want to put diffrax's parts together."""

from typing import Any, Literal

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.flatten_util
import jax.numpy as jnp

from .._consistent import (
    constraint_rank,
    ConstraintResiduals,
    flat_residuals,
    multipliers as multipliers_at,
)
from .._custom_types import Args, BoolScalar, RealScalarLike, State
from .._driver import LARGEST, Tolerances
from .._explicit import dop853_tableau, solve_explicitly, tableau_of_diffrax, Wanted
from .._implicit import stop_gradient
from .._kkt import LinearSolver, select_linear_solver
from .._results import RESULTS
from .._rollout import consistency_tolerance, initial_result, raise_on_failure, Solution, Statistics
from .._step import NewtonOptions
from .._stiff import GGL
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten
from .._tableau import AbstractSparkMethod
from ._adjoint import DiscreteAdjoint
from ._base import AbstractConstrainedSolver
from ._checks import check_no_options, check_sizes, check_times, filled_tolerances
from ._controller import PIController
from ._dop853 import DOP853
from ._events import as_events
from ._ggl_solver import GGLSolver
from ._segment import Options
from ._segments import Motion, Progress, run_segments
from ._solver import DiffraxSolver
from ._term import ConstrainedTerm


def solve(
    system: AbstractConstrainedSystem,
    method: AbstractSparkMethod | GGL | diffrax.AbstractERK,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    t1: RealScalarLike,
    rtol: RealScalarLike | None = None,
    atol: RealScalarLike | None = None,
    ts: Any = None,
    steps: bool = False,
    dense: bool = False,
    multipliers: bool = False,
    events: Any = None,
    max_events: int = 16,
    first_step: RealScalarLike | None = None,
    max_step: RealScalarLike | None = None,
    max_steps: int | None = 4096,
    controller: diffrax.AbstractStepSizeController | None = None,
    adjoint: diffrax.AbstractAdjoint = DiscreteAdjoint(),
    progress_meter: diffrax.AbstractProgressMeter = diffrax.NoProgressMeter(),
    newton: NewtonOptions | None = None,
    linear_solver: LinearSolver | None = None,
    predict: bool = True,
    consistency_tol: float | Literal["auto"] | None = "auto",
    throw: bool = True,
) -> Solution:
    r"""Integrate a constrained system with steps whose sizes follow from tolerances.

    All constraints hold to rounding error at every saved time. Differentiable with respect to
    `y0`, `z0`, `t0`, `t1`, `ts`, `args` and `system`, with the step sizes held constant; through
    events, too.

    **Arguments:**

    - `system`, `y0`, `z0`, `args`: as for [`jaxspark.rollout`][].
    - `method`: a SPARK method; an explicit method, [`jaxspark.DOP853`][] or one of diffrax's, for
        instance `diffrax.Tsit5()`, each of whose steps is projected onto the constraints; or
        [`jaxspark.GGL`][] for what is stiff. Explicit methods take the least time to compile and,
        unless the motion is stiff, to run. They are for ideal constraint forces, and without
        `events` and the options that concern Newton's iteration or diffrax.
    - `t0`, `t1`: initial and final time; time may run backward.
    - `rtol`, `atol`: relative and absolute tolerance of positions and velocities. Default: 1e-6
        in double and 1e-3 in single precision, and `atol = rtol`. The error of a smooth motion at
        a given time is proportional to them.
    - `ts`: times to save, in order, between `t0` and `t1`. The states there are of full order; at
        the time of an event, that after it.
    - `steps`: whether to save after every step instead: `max_steps + 1` rows (for each event
        once more), of which those after the end repeat it. Default: the start and the end.
    - `dense`: whether to keep what `solution.evaluate(t)` needs.
    - `multipliers`: whether to report the multipliers at the saved times, to full order.
    - `events`: a [`jaxspark.Event`][] or several.
    - `max_events`: how many of them may occur after which the motion goes on.
    - `first_step`, `max_step`: sizes of the first and the largest step. Default: selected, and a
        tenth of the interval (`GGL`: unlimited). What happens within less than that, in a motion
        that is otherwise quiet, can be missed: then give a smaller `max_step`. Infinity removes
        the limit.
    - `max_steps`: the largest number of steps, rejected ones included, from one event to the
        next. `None`: any number, but no reverse-mode derivatives, `steps` or `dense`.
    - `controller`: of the step size, in place of [`jaxspark.PIController`][] and the tolerances.
        If it has none, as for given steps, `GGL` iterates nearly to rounding error.
    - `adjoint`: how diffrax differentiates. [`jaxspark.DiscreteAdjoint`][] admits every
        derivative, forward and reverse and of any order. `diffrax.RecursiveCheckpointAdjoint()`
        keeps less for reverse mode, takes longer, and admits no `jax.jvp`; it computes steps
        again, whose sizes are then off by about eps / rtol, relatively, and the gradient by as
        much.
    - `progress_meter`: for instance `diffrax.TqdmProgressMeter()`.
    - `newton`, `linear_solver`, `predict`: as for `rollout`; not for [`jaxspark.GGL`][]. A step
        that needs more than 50 iterations is tried again with half its size, which costs less.
    - `consistency_tol`, `throw`: as for `rollout`.

    **Returns:** a [`jaxspark.Solution`][]. If it fails, or ends at an event, the rows after it
    repeat the last state.

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError` for
    input that can never be right.

    Source: `diffrax.diffeqsolve` with [`jaxspark.DiffraxSolver`][] or [`jaxspark.GGLSolver`][].
    """
    if not isinstance(method, AbstractSparkMethod | GGL | diffrax.AbstractERK):
        raise TypeError(f"method must be one such as Gauss(3) or DOP853(); got {method!r}.")
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    times = [jnp.asarray(t, dtype) for t in (t0, t1)]
    ts = None if ts is None else jnp.asarray(ts, dtype)
    check_times(times, ts, steps, dense, max_steps, max_events)
    check_sizes(first_step, max_step, controller)
    if isinstance(method, diffrax.AbstractERK):
        given = {
            "events": events is not None, "controller": controller is not None,
            "newton": newton is not None, "linear_solver": linear_solver is not None,
            "adjoint": type(adjoint) is not DiscreteAdjoint,
            "progress_meter": type(progress_meter) is not diffrax.NoProgressMeter,
        }  # fmt: skip
        check_no_options([name for name, asked in given.items() if asked])
        rtol, atol = filled_tolerances(rtol, atol, dtype)
        wanted = Wanted(
            bool(steps), bool(dense), bool(multipliers),
            None if max_steps is None else int(max_steps),
            consistency_tolerance(consistency_tol, dtype),
        )  # fmt: skip
        sizes = (first_step, max_step, rtol, atol)
        args = as_args(args, dtype)
        solution = _explicitly(system, method, (y0, z0), args, times, ts, sizes, wanted)
        return solution if not throw else _or_error(system, solution, args)
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
        raise ValueError("Give either a controller or rtol, atol and max_step.")
    solver = _solver(method, newton, linear_solver, predict, controller, dtype)
    options = Options(
        solver, controller, as_events(events),
        adjoint, progress_meter, "steps" if steps else "ends" if ts is None else "ts",
        dense, multipliers, None if max_steps is None else int(max_steps), int(max_events),
        consistency_tolerance(consistency_tol, dtype),
    )  # fmt: skip
    args = as_args(args, dtype)
    if first_step is not None:
        first_step = jnp.asarray(first_step, dtype) * jnp.where(times[1] < times[0], -1, 1)
    solution = _solve(system, y0, z0, args, times[0], times[1], ts, first_step, options)
    return solution if not throw else _or_error(system, solution, args)


def _or_error(system: AbstractConstrainedSystem, solution: Solution, args: Args) -> Solution:
    return raise_on_failure(
        solution, lambda end: constraint_rank(system, end.t1, end.y1, end.z1, stop_gradient(args))
    )


def _explicitly(
    system: AbstractConstrainedSystem,
    method: diffrax.AbstractERK,
    start: tuple[State, State],
    args: Args,
    times: list[Any],
    ts: Any,
    sizes: tuple[Any, Any, Any, Any],
    wanted: Wanted,
) -> Solution:
    """A solve by an explicit method, with its options as arrays: no values are compiled for."""
    first_step, max_step, rtol, atol = sizes
    dtype = times[0].dtype
    span = jnp.abs(times[1] - times[0])
    longest = LARGEST * span if max_step is None else jnp.asarray(max_step, dtype)
    first = jnp.asarray(jnp.nan if first_step is None else first_step, dtype)
    tolerances = Tolerances(jnp.asarray(rtol, dtype), jnp.asarray(atol, dtype), longest)
    kind = type(method)
    tableau = dop853_tableau() if kind is DOP853 else tableau_of_diffrax(kind)
    ends = (times[0], times[1])
    return solve_explicitly(system, tableau, *start, args, ends, ts, first, tolerances, wanted)


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

    return fill(motion.ts, end.t), jax.tree.map(fill, motion.rows, (end.y, end.z))
