"""Solutions of constrained systems: input checked, an engine chosen, failure raised on request."""

from typing import Any, Literal

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from .._adaptive import (
    check_sizes,
    check_times,
    DiscreteAdjoint,
    DOP853,
    filled_tolerances,
    solve_by_tolerances,
)
from .._consistent import constraint_rank
from .._custom_types import Args, RealScalarLike, State
from .._driver import LARGEST, Tolerances
from .._explicit import dop853_tableau, solve_explicitly, tableau_of_diffrax, Wanted
from .._implicit import stop_gradient
from .._kkt import LinearSolver
from .._rollout import (
    check_number,
    Checkpoint,
    consistency_tolerance,
    EqualSteps,
    known_steps,
    KnownSteps,
    raise_on_failure,
    Solution,
    solve_by_steps,
)
from .._step import NewtonOptions
from .._stiff import GGL
from .._system import AbstractConstrainedSystem, as_args, as_state
from .._tableau import AbstractSparkMethod, RolloutMethod
from ._default import default_method
from ._options import Options, refuse_of_newton, refuse_of_tolerances


Method = RolloutMethod | GGL | diffrax.AbstractERK


def solve(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    t1: RealScalarLike | None = None,
    method: Method | None = None,
    steps: KnownSteps | diffrax.AbstractStepSizeController | None = None,
    rtol: RealScalarLike | None = None,
    atol: RealScalarLike | None = None,
    first_step: RealScalarLike | None = None,
    max_step: RealScalarLike | None = None,
    max_steps: int | None = 4096,
    ts: Any = None,
    save_every: int | np.integer | None = None,
    dense: bool = False,
    multipliers: bool = False,
    events: Any = None,
    max_events: int = 16,
    adjoint: diffrax.AbstractAdjoint | None = None,
    checkpoint: Checkpoint | None = None,
    progress_meter: diffrax.AbstractProgressMeter | None = None,
    newton: NewtonOptions | None = None,
    linear_solver: LinearSolver | None = None,
    predict: bool = True,
    consistency_tol: float | Literal["auto"] | None = "auto",
    throw: bool = True,
) -> Solution:
    r"""Integrate a constrained system.

    Every constraint, the time derivatives of the holonomic ones included, holds to rounding
    error after every step. The result is differentiable, forward and reverse and to second
    order, with respect to `y0`, `z0`, `t0`, `t1`, `ts`, every floating-point leaf of `args` and of
    `system`, and sizes of steps that are given; sizes that follow from tolerances are held
    constant. Derivatives are those of the discrete solution, found by the implicit function
    theorem; through events, too. It can be vmapped over all of these.

    **Arguments:**

    - `system`: what to integrate, for instance a [`jaxspark.LagrangianSystem`][].
    - `y0`, `z0`: consistent initial coordinates and velocities, arrays or PyTrees.
    - `args`: passed to the system's functions, any PyTree.
    - `t0`, `t1`: initial and final time; time may run backward.
    - `method`: an explicit method, [`jaxspark.DOP853`][] or one of diffrax's, for instance
        `diffrax.Tsit5()`, each of whose steps is projected onto the constraints; a SPARK method
        such as `jaxspark.Gauss(3)`; or [`jaxspark.GGL`][] for what is stiff. A
        [`jaxspark.Composition`][] is for steps of known sizes. Explicit methods take the least time
        to compile and, unless the motion is stiff, to run. They are for ideal constraint forces,
        and without `events` and the options that concern Newton's iteration or diffrax. Default:
        `DOP853()`; where that is impossible, and for more than 64 velocities of a system of
        blocks, `Gauss(3)`; for steps of known sizes `Gauss(2)`.
    - `steps`: `None` for steps whose sizes follow from tolerances. [`jaxspark.EqualSteps`][];
        [`jaxspark.GivenSteps`][], or [`jaxspark.StepDensity`][], reversible ones of variable size,
        which determine the final time, so leave out `t1`; or a controller of diffrax in place of
        [`jaxspark.PIController`][] and the tolerances. If that has none, `GGL` iterates nearly to
        rounding error.
    - `rtol`, `atol`: relative and absolute tolerance of positions and velocities. Default: 1e-6
        in double and 1e-3 in single precision, and `atol = rtol`. The error of a smooth motion at
        a given time is proportional to them.
    - `first_step`, `max_step`: sizes of the first and the largest step. Default: selected, and a
        tenth of the interval (`GGL`: unlimited). What happens within less than that, in a motion
        that is otherwise quiet, can be missed: then give a smaller `max_step`. Infinity removes
        the limit.
    - `max_steps`: the largest number of steps, rejected ones included, from one event to the
        next. `None`: any number, but no reverse-mode derivatives, `save_every` or `dense`.
    - `ts`: times to save, in order, between `t0` and `t1`. The states there are of full order; at
        the time of an event, that after it.
    - `save_every`: 1 saves the start and every state after a step, `n` every n-th, and the end.
        With tolerances there are rows for `max_steps` steps, and for each event one more; those
        after the end repeat it. Default: the start and the end.
    - `dense`: whether to keep what `solution.evaluate(t)` needs.
    - `multipliers`: whether to report the multipliers at the saved times, to full order.
    - `events`: a [`jaxspark.Event`][] or several.
    - `max_events`: how many of them may occur after which the motion goes on.
    - `adjoint`: how diffrax differentiates. [`jaxspark.DiscreteAdjoint`][], the default, admits
        every derivative, forward and reverse and of any order.
        `diffrax.RecursiveCheckpointAdjoint()` keeps less for reverse mode, takes longer, and admits
        no `jax.jvp`; it computes steps again, whose sizes are then off by about eps / rtol,
        relatively, and the gradient by as much.
    - `checkpoint`: what the backward pass keeps of steps of known sizes: `"stages"`, the default,
        the converged stages of each step; `"none"` the linearised equations and the factors of K2
        and K3 too, which is faster for some ten coordinates; `"sqrt"` or a number of steps only the
        first state of each segment, at the price of one more forward pass.
    - `progress_meter`: for instance `diffrax.TqdmProgressMeter()`.
    - `newton`: tolerances and Jacobian of the Newton iteration, [`jaxspark.NewtonOptions`][]; not
        for [`jaxspark.GGL`][]. With tolerances a step that needs more than 50 iterations is tried
        again with half its size, which costs less.
    - `linear_solver`: for K2 and K3: `"auto"`, by size and structure (see
        [`jaxspark.explain`][]), or for instance [`jaxspark.AcyclicNullSpace`][]; not for `GGL`. By
        default steps of `Lobatto(2)` of known sizes solve for multipliers alone, where the system
        allows it.
    - `predict`: whether Newton starts from the last step's extrapolated stages.
    - `consistency_tol`: initial constraint residuals above this, times 1 plus the size of the
        state, are refused. `"auto"`: the square root of the machine epsilon. `None` skips
        the check.
    - `throw`: whether to raise an error on failure. If `False`, look at `result`. (Under
        `jax.jit` and `jax.vmap` the error is raised at run time, by a host callback, with the
        reason alone, for a whole batch if one lane fails; `jax.export` refuses it.)

    **Returns:** a [`jaxspark.Solution`][]. If it fails, or ends at an event, the rows after it
    repeat the last state.

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError` for
    input that can never be right.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*; E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*,
    VII.2 (projections), for explicit methods.
    """
    if not (method is None or isinstance(method, Method)):
        raise TypeError(f"method must be one such as Gauss(3) or DOP853(); got {method!r}.")
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    args = as_args(args, dtype)
    tolerance = consistency_tolerance(consistency_tol, dtype)
    if save_every is not None:
        check_number("save_every", save_every, 1)
        save_every = int(save_every)
    options = Options(
        steps, rtol, atol, first_step, max_step, max_steps, ts, save_every, bool(dense),
        bool(multipliers), events, max_events, adjoint, checkpoint, progress_meter, newton,
        linear_solver, bool(predict),
    )  # fmt: skip
    if method is None:
        method = default_method(system, z0, options)
    start = (y0, z0, args)
    if isinstance(steps, KnownSteps) and not isinstance(method, diffrax.AbstractERK):
        solution = _by_steps(system, method, start, (t0, t1), options, tolerance)
    else:
        solution = _by_sizes(system, method, start, (t0, t1), options, tolerance)
    if not throw:
        return solution
    return raise_on_failure(
        solution, lambda end: constraint_rank(system, end.t1, end.y1, end.z1, stop_gradient(args))
    )


def _by_steps(
    system: AbstractConstrainedSystem,
    method: Any,
    start: tuple[State, State, Args],
    times: tuple[Any, Any],
    options: Options,
    tolerance: float | None,
) -> Solution:
    """With steps whose sizes are known."""
    if not isinstance(method, RolloutMethod):
        raise TypeError(
            f"Steps of known sizes are for SPARK methods such as Gauss(2); got {method!r}. With "
            "jaxspark.GGL give a controller such as diffrax.StepTo."
        )
    refuse_of_tolerances(options)
    assert isinstance(options.steps, KnownSteps)
    return solve_by_steps(
        system, method, *start, times, options.steps, options.save_every, options.multipliers,
        "stages" if options.checkpoint is None else options.checkpoint,
        NewtonOptions() if options.newton is None else options.newton,
        options.linear_solver, options.predict, tolerance,
    )  # fmt: skip


def _by_sizes(
    system: AbstractConstrainedSystem,
    method: Any,
    start: tuple[State, State, Args],
    times: tuple[Any, Any],
    options: Options,
    tolerance: float | None,
) -> Solution:
    """With steps whose sizes follow from tolerances, or from a controller; or explicit ones."""
    y0, z0, args = start
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    t0, t1 = times
    equal = options.steps if isinstance(options.steps, EqualSteps) else None
    if isinstance(method, diffrax.AbstractERK):
        refuse_of_newton(options)
        if equal is not None:
            t0, t1, options = _of_equal_steps(equal, t0, t1, options, dtype)
    elif not isinstance(method, AbstractSparkMethod | GGL):
        raise TypeError(
            f"The method {method!r} is for steps of known sizes: give "
            "steps=jaxspark.EqualSteps(...)."
        )
    elif options.checkpoint is not None:
        raise ValueError("checkpoint is for steps of known sizes; see adjoint.")
    if t1 is None:
        raise ValueError("Give the final time t1.")
    t0, t1 = jnp.asarray(t0, dtype), jnp.asarray(t1, dtype)
    ts = None if options.ts is None else jnp.asarray(options.ts, dtype)
    saved = options.save_every is not None
    check_times([t0, t1], ts, saved, options.dense, options.max_steps, options.max_events)
    check_sizes(options.first_step, options.max_step, None if equal else options.steps)
    if not isinstance(method, diffrax.AbstractERK):
        adjoint, meter = options.adjoint, options.progress_meter
        return solve_by_tolerances(
            system, method, *start, (t0, t1), ts,
            (options.rtol, options.atol, options.first_step, options.max_step, options.steps),
            options.save_every, options.dense, options.multipliers,
            (options.events, options.max_events, options.max_steps),
            DiscreteAdjoint() if adjoint is None else adjoint,
            diffrax.NoProgressMeter() if meter is None else meter,
            (options.newton, options.linear_solver, options.predict), tolerance,
        )  # fmt: skip
    return _explicitly(system, method, start, (t0, t1), ts, options, tolerance)


def _of_equal_steps(
    equal: EqualSteps, t0: Any, t1: Any, options: Options, dtype: Any
) -> tuple[Any, Any, Options]:
    """Without tolerances, of one size: all steps are accepted."""
    refuse = [name for name in ("rtol", "atol", "first_step", "max_step") if options.asked()[name]]
    if refuse:
        raise ValueError(f"Equal steps have no {', '.join(refuse)}.")
    check_number("number", equal.number, 1)
    t0, h, number, _ = known_steps(equal, t0, t1, dtype)
    size = jnp.abs(h)
    return (
        t0,
        t0 + number * h if t1 is None else t1,
        options._replace(rtol=0.0, atol=jnp.inf, first_step=size, max_step=size, max_steps=number),
    )


def _explicitly(
    system: AbstractConstrainedSystem,
    method: diffrax.AbstractERK,
    start: tuple[State, State, Args],
    times: tuple[Any, Any],
    ts: Any,
    options: Options,
    tolerance: float | None,
) -> Solution:
    """By an explicit method, with its options as arrays: no values are compiled for."""
    dtype = times[0].dtype
    rtol, atol = options.rtol, options.atol
    if not isinstance(options.steps, EqualSteps):
        rtol, atol = filled_tolerances(rtol, atol, dtype)
    span, longest = jnp.abs(times[1] - times[0]), options.max_step
    longest = LARGEST * span if longest is None else jnp.asarray(longest, dtype)
    first = jnp.asarray(jnp.nan if options.first_step is None else options.first_step, dtype)
    tolerances = Tolerances(jnp.asarray(rtol, dtype), jnp.asarray(atol, dtype), longest)
    kind = type(method)
    tableau = dop853_tableau() if kind is DOP853 else tableau_of_diffrax(kind)
    wanted = Wanted(
        options.save_every, options.dense, options.multipliers,
        None if options.max_steps is None else int(options.max_steps), tolerance,
    )  # fmt: skip
    return solve_explicitly(system, tableau, *start, times, ts, first, tolerances, wanted)
