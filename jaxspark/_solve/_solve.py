"""Solutions of constrained systems: input checked, an engine chosen, failure raised on request."""

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from .._custom_types import Args, RealScalarLike, State
from .._explicit import ExplicitMethod
from .._kkt import LinearSolver
from .._motion import solve_motion
from .._rollout import (
    check_number,
    Checkpoint,
    consistency_tolerance,
    EqualSteps,
    KnownSteps,
    raise_on_failure,
    Remark,
    Solution,
)
from .._step import NewtonOptions
from .._system import AbstractConstrainedSystem, as_args, as_state
from .._tableau import Gauss, RolloutMethod
from ._auto import check_known, choose, TRIED
from ._checks import check_kinds, Method
from ._default import Choice, default_method
from ._engines import by_steps, motion_arguments, Task
from ._global_error import global_error as error_of
from ._options import as_meter, Options


def solve(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike | None = None,
    t1: RealScalarLike | None = None,
    method: Method | Literal["auto"] | None = None,
    steps: KnownSteps | None = None,
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
    checkpoint: Checkpoint | None = None,
    progress_meter: Any = None,
    newton: NewtonOptions | None = None,
    linear_solver: LinearSolver | None = None,
    predict: bool = True,
    consistency_tol: float | Literal["auto"] | None = "auto",
    global_error: bool = False,
    throw: bool = True,
) -> Solution:
    r"""Integrate a constrained system.

    Every constraint, the time derivatives of the holonomic ones included, holds to rounding
    error after every step. The result is differentiable, forward and reverse and to second
    order, with respect to `y0`, `z0`, `t0`, `t1`, `ts`, every floating-point leaf of `args` and of
    `system`, and sizes of steps that are given; sizes that follow from tolerances are held
    constant. Derivatives are those of the discrete solution, found by the implicit function
    theorem; through events, too. The solve can be vmapped over all of these.

    **Arguments:**

    - `system`: what to integrate, for instance a [`jaxspark.LagrangianSystem`][].
    - `y0`, `z0`: consistent initial coordinates and velocities, arrays or PyTrees.
    - `args`: passed to the system's functions, any PyTree.
    - `t0`, `t1`: initial and final time; time may run backward. Default of `t0`: 0.
    - `method`: an explicit method such as `jaxspark.DOP853()` or `jaxspark.Tsit5()`, each of whose
        steps is projected onto the constraints; a SPARK method such as `jaxspark.Gauss(3)`; or
        [`jaxspark.GGL`][] for what is stiff. A [`jaxspark.Composition`][] is for steps of known
        sizes. Explicit methods take the least time to compile and, unless the motion is stiff, to
        run. They are for ideal constraint forces, and without the options that concern Newton's
        iteration. Default: `DOP853()`; where that is impossible, `Gauss(3)`; for steps of known
        sizes `Gauss(2)`; for `friction` `Lobatto(3)`.
        `"auto"` makes 64 steps of `DOP853()` first and, if many more are needed, as many of `GGL`,
        to see which come farther: outside of `jax.jit` only. `solution.explain()` says what was
        taken and why.
    - `steps`: `None` for steps whose sizes follow from tolerances; or steps of known sizes,
        [`jaxspark.EqualSteps`][]. For SPARK methods also [`jaxspark.GivenSteps`][], which determine
        all times, so leave out `t0` and `t1`; or [`jaxspark.StepDensity`][], reversible steps of
        variable size, which determine the final time.
    - `rtol`, `atol`: relative and absolute tolerance of coordinates and velocities. Default: 1e-6
        in double and 1e-3 in single precision, and `atol = rtol`. The error of a smooth motion at
        a given time is proportional to them.
    - `first_step`, `max_step`: sizes of the first and the largest step. Default: the first is
        selected, the largest is a tenth of the interval (`GGL` whose `error_norm` does not count
        velocities in full: unlimited). What happens within less than that, in a motion that is
        otherwise quiet, can be missed: then give a smaller `max_step`. Infinity removes the limit.
    - `max_steps`: with tolerances, the largest number of steps, rejected ones included. `None`:
        any number, but no derivatives, `save_every` or `dense`. Derivatives take memory for that
        many steps: for an explicit method, where only the start and the end are saved and there
        are no events, that of their sizes and of a few hundred states; else that of all states
        and, for an implicit method, of its stages.
    - `ts`: times to save, shape `(n,)`, in order, between `t0` and `t1`; only with tolerances. The
        states there are of full order; at the time of an event, that after it.
    - `save_every`: 1 saves the start and every state after a step, `n` every n-th, and the end.
        With tolerances there are rows for `max_steps` steps, and for events some more; those
        after the end repeat it. Default: the start and the end.
    - `dense`: whether to keep what `solution.evaluate(t)` needs; only with tolerances.
    - `multipliers`: whether to report the multipliers at the saved times, to full order.
    - `events`: a [`jaxspark.Event`][] or several; only with tolerances.
    - `max_events`: how many events may occur after which the motion goes on.
    - `checkpoint`: what the backward pass keeps of steps of known sizes. `"stages"`, the default,
        keeps the converged stages of each step; `"none"` the linearised equations and the factors
        of K2 and K3 too, which is faster for some ten coordinates; `"sqrt"` or a number of steps
        only the first state of each segment, at the price of one more forward pass.
    - `progress_meter`: `True` for a bar that appears after two seconds, by a host callback; or for
        instance `diffrax.TextProgressMeter()`; only with tolerances.
    - `newton`: tolerances and Jacobian of the Newton iteration, [`jaxspark.NewtonOptions`][]; not
        for [`jaxspark.GGL`][]. With tolerances a step that needs more than 50 iterations is tried
        again with half its size, which costs less.
    - `linear_solver`: for K2 and K3: `"auto"`, by size and structure (see
        [`jaxspark.linear.explain`][]), or for instance [`jaxspark.linear.AcyclicNullSpace`][]; not
        for `GGL`. Explicit methods take only solvers of blocks, and take one by default beyond 36
        velocities and multipliers. By default steps of `Lobatto(2)` of known sizes solve for
        multipliers alone, where the system allows it.
    - `predict`: whether Newton starts from the last step's extrapolated stages.
    - `consistency_tol`: initial constraint residuals above this, times 1 plus the size of the
        state, are refused. `"auto"`: the square root of the machine epsilon. `None` skips
        the check.
    - `global_error`: whether to estimate the error of the whole solution, by a second one with
        smaller tolerances, which costs about 1.4 solves; only with tolerances. The estimate is
        `solution.error`, a [`jaxspark.diagnostics.GlobalError`][]. Where it is more than 100
        tolerances, `print(solution)` tells from what time on the solution is lost.
    - `throw`: whether to raise an error on failure, which names what was wrong. If `False`, look at
        `result`; derivatives of the rows after a failure and of `y1` and `z1` are then NaN, but
        zero where these are not used (masked by `jnp.where(solution.successful, y1, 0)`; for second
        derivatives before anything that is nonlinear). Under `jax.jit` and `jax.vmap` the error is
        raised at run time, by a host callback, with the reason alone, for a whole batch if one lane
        fails; `jax.export` refuses it.

    **Returns:** a [`jaxspark.Solution`][]. If it fails, or ends at an event, the rows after it
    repeat the last state.

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError` for
    invalid input.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, equations (4)-(7); for explicit methods E. Hairer, Ch. Lubich & G.
    Wanner, *Geometric Numerical Integration*, IV.4 (4.4), projections.
    """
    check_kinds(system, y0, method, steps)
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    args = as_args(args, dtype)
    tolerance = consistency_tolerance(consistency_tol, dtype)
    if save_every is not None:
        check_number("save_every", save_every, 1)
        save_every = int(save_every)
    options = Options(
        steps, rtol, atol, first_step, max_step, max_steps, ts, save_every, bool(dense),
        bool(multipliers), events, max_events, checkpoint, as_meter(progress_meter), newton,
        linear_solver, bool(predict),
    )  # fmt: skip
    task, why = Task(system, (y0, z0, args), (t0, t1), options, tolerance), ""
    if method is None or isinstance(method, str):
        choice = default_method(system, options)
        if method == "auto" and isinstance(choice.method, ExplicitMethod) and steps is None:
            choice = _by_first_steps(task)
        method, why = choice
    no_steps = isinstance(steps, EqualSteps) and steps.number == 0
    if no_steps and not isinstance(method, RolloutMethod):
        # Nothing is to be done, by any method.
        method = Gauss(2)
    if isinstance(steps, KnownSteps) and isinstance(method, RolloutMethod):
        solution = by_steps(method, task)
    else:
        solution = solve_motion(*motion_arguments(method, task))
    if global_error:
        solution = dataclasses.replace(solution, error=error_of(solution, method, task))
    remark = Remark(f"{method!r}" + (f": {why}" if why else ""))
    solution = dataclasses.replace(solution, remark=remark)
    if not throw:
        return solution
    return raise_on_failure(solution, system, args, t1, 0.0 if t0 is None else t0)


def _by_first_steps(task: Task) -> Choice:
    """The method that suits the motion, by its first steps."""
    options = task.options
    check_known(task.start, task.times, options.ts)
    few = options._replace(
        progress_meter=None, max_steps=TRIED, ts=None, save_every=1, dense=False, multipliers=False,
    )  # fmt: skip
    t0, t1 = task.times
    span = abs(float(t1) - float(0.0 if t0 is None else t0)) if t1 is not None else 0.0
    atol = options.rtol if options.atol is None else options.atol
    stiff = atol is None or bool(atol > 0)
    task = task._replace(options=few)
    attempt = lambda method: solve_motion(*motion_arguments(method, task))
    return choose(span, options.max_steps, stiff, attempt)
