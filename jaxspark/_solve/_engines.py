"""What `solve` hands over to: steps of known sizes, implicit methods, explicit ones."""

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp

from .._adaptive import (
    check_sizes,
    check_times,
    DiscreteAdjoint,
    DOP853,
    filled_tolerances,
    GGLIntegrator,
    solve_by_tolerances,
    SparkIntegrator,
)
from .._custom_types import Args, State
from .._driver import LARGEST, Tolerances
from .._explicit import dop853_tableau, ExplicitIntegrator, tableau_of_diffrax
from .._motion import AbstractIntegrator, solve_motion, Wanted
from .._rollout import (
    EqualSteps,
    known_steps,
    KnownSteps,
    Solution,
    solve_by_steps,
)
from .._step import check_newton, NewtonOptions
from .._stiff import GGL
from .._system import AbstractConstrainedSystem
from .._tableau import AbstractSparkMethod, RolloutMethod
from ._options import Options, refuse_of_newton, refuse_of_tolerances


class Task(NamedTuple):
    """What is to be solved, but for the method.

    - `start`: `y0`, `z0` and `args`; `times`: `t0` and `t1`, `None` where not given.
    - `tolerance`: of the consistency of the start.
    """

    system: AbstractConstrainedSystem
    start: tuple[State, State, Args]
    times: tuple[Any, Any]
    options: Options
    tolerance: float | None


def by_steps(method: Any, task: Task) -> Solution:
    """With steps whose sizes are known."""
    if not isinstance(method, RolloutMethod):
        raise TypeError(
            f"Steps of known sizes are for SPARK methods such as Gauss(2); got {method!r}. With "
            "jaxspark.GGL give a controller such as diffrax.StepTo."
        )
    system, start, times, options, tolerance = task
    refuse_of_tolerances(options)
    assert isinstance(options.steps, KnownSteps)
    return solve_by_steps(
        system, method, *start, times, options.steps, options.save_every, options.multipliers,
        "stages" if options.checkpoint is None else options.checkpoint,
        NewtonOptions() if options.newton is None else options.newton,
        options.linear_solver, options.predict, tolerance,
    )  # fmt: skip


def by_sizes(method: Any, task: Task) -> Solution:
    """With steps whose sizes follow from tolerances, or from a controller; or explicit ones."""
    system, start, (t0, t1), options, tolerance = task
    dtype = jnp.result_type(*jax.tree.leaves(start[0]))
    t0 = 0.0 if t0 is None else t0
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
    check_sizes(options.first_step, options.max_step)
    others = [options.asked()[name] for name in ("events", "adjoint", "progress_meter")]
    if not isinstance(method, diffrax.AbstractERK) and options.steps is None and not any(others):
        return _implicitly(method, Task(system, start, (t0, t1), options, tolerance), ts)
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
    return _explicitly(method, Task(system, start, (t0, t1), options, tolerance), ts)


def _of_equal_steps(
    equal: EqualSteps, t0: Any, t1: Any, options: Options, dtype: Any
) -> tuple[Any, Any, Options]:
    """Of one size: errors, and with them tolerances, do not count."""
    refuse = [name for name in ("rtol", "atol", "first_step", "max_step") if options.asked()[name]]
    if refuse:
        raise ValueError(f"Equal steps have no {', '.join(refuse)}.")
    t0, h, number, _ = known_steps(equal, t0, t1, dtype)
    t1 = t0 + number * h if t1 is None else t1
    return t0, t1, options._replace(rtol=0.0, atol=jnp.inf, max_steps=number)


def _explicitly(method: diffrax.AbstractERK, task: Task, ts: Any) -> Solution:
    """By an explicit method."""
    kind = type(method)
    tableau = dop853_tableau() if kind is DOP853 else tableau_of_diffrax(kind)
    longest = LARGEST * jnp.abs(task.times[1] - task.times[0])
    return _moved(ExplicitIntegrator(tableau), longest, task, ts)


def _implicitly(method: Any, task: Task, ts: Any) -> Solution:
    """By an implicit method."""
    options, dtype = task.options, task.times[0].dtype
    longest = LARGEST * jnp.abs(task.times[1] - task.times[0])
    if not isinstance(method, GGL):
        newton = NewtonOptions(max_iterations=50) if options.newton is None else options.newton
        check_newton(newton, options.linear_solver)
        integrator = SparkIntegrator(method, newton, options.linear_solver, options.predict)
        return _moved(integrator, longest, task, ts)
    if options.newton is not None or options.linear_solver is not None:
        raise ValueError(
            "jaxspark.GGL has a Newton iteration of its own, with a fresh matrix every time: "
            "newton and linear_solver are for other methods. GGL(method, newton=...) chooses how."
        )
    _, atol = filled_tolerances(options.rtol, options.atol, dtype)
    if not isinstance(atol, jax.core.Tracer) and atol == 0:
        raise ValueError("jaxspark.GGL needs atol > 0: coordinates may pass through zero.")
    return _moved(GGLIntegrator(method), jnp.asarray(jnp.inf, dtype), task, ts)


def _moved(integrator: AbstractIntegrator, longest: Any, task: Task, ts: Any) -> Solution:
    """With its options as arrays: no values are compiled for."""
    system, start, times, options, tolerance = task
    dtype = times[0].dtype
    rtol, atol = options.rtol, options.atol
    if not isinstance(options.steps, EqualSteps):
        rtol, atol = filled_tolerances(rtol, atol, dtype)
    longest = longest if options.max_step is None else jnp.asarray(options.max_step, dtype)
    first = jnp.asarray(jnp.nan if options.first_step is None else options.first_step, dtype)
    tolerances = Tolerances(jnp.asarray(rtol, dtype), jnp.asarray(atol, dtype), longest)
    wanted = Wanted(
        options.save_every, isinstance(options.steps, EqualSteps), options.dense,
        options.multipliers, None if options.max_steps is None else int(options.max_steps),
        tolerance,
    )  # fmt: skip
    return solve_motion(system, integrator, *start, times, ts, first, tolerances, wanted)
