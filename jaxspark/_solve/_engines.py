"""What `solve` hands over: known steps to a scan, all else to a motion by any integrator."""

from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp

from .._custom_types import Args, State
from .._driver import LARGEST, Tolerances
from .._explicit import ExplicitMethod
from .._motion import AbstractIntegrator, as_events, Wanted
from .._rollout import (
    EqualSteps,
    known_steps,
    KnownSteps,
    Solution,
    solve_by_steps,
)
from .._step import NewtonOptions
from .._stiff import GGL
from .._system import AbstractConstrainedSystem
from .._tableau import RolloutMethod
from ._integrators import integrator_of
from ._options import Options, refuse_of_newton, refuse_of_tolerances
from ._times import check_room, check_sizes, check_times, filled_tolerances


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


def by_steps(method: RolloutMethod, task: Task) -> Solution:
    """With steps whose sizes are known."""
    system, start, times, options, tolerance = task
    refuse_of_tolerances(options)
    assert isinstance(options.steps, KnownSteps)
    return solve_by_steps(
        system, method, *start, times, options.steps, options.save_every, options.multipliers,
        "stages" if options.checkpoint is None else options.checkpoint,
        NewtonOptions() if options.newton is None else options.newton,
        options.linear_solver, options.predict, tolerance,
    )  # fmt: skip


def motion_arguments(method: Any, task: Task, shorter: float = 1.0) -> tuple[Any, ...]:
    """Those of `solve_motion`, checked: steps follow from tolerances, or are of equal size.

    - `shorter`: by how much the longest step is less than what is asked for.
    """
    system, start, (t0, t1), options, tolerance = task
    dtype = jnp.result_type(*jax.tree.leaves(start[0]))
    t0 = 0.0 if t0 is None else t0
    if isinstance(method, ExplicitMethod):
        refuse_of_newton(options)
    integrator = integrator_of(method, options.newton, options.linear_solver, options.predict)
    if options.checkpoint is not None:
        raise ValueError("checkpoint is for steps of known sizes.")
    if isinstance(options.steps, EqualSteps):
        t0, t1, options = _of_equal_steps(options.steps, t0, t1, options, dtype)
    elif options.steps is not None:
        raise ValueError(
            f"{options.steps!r} are for SPARK methods such as Gauss(2); steps of {method!r} are "
            "EqualSteps, or follow from tolerances."
        )
    if t1 is None:
        raise ValueError("Give the final time t1.")
    check_room(options)
    check_times(t0, t1, options.ts, dtype)
    check_sizes(options.first_step, options.max_step)
    t0, t1 = jnp.asarray(t0, dtype), jnp.asarray(t1, dtype)
    ts = None if options.ts is None else jnp.asarray(options.ts, dtype)
    task = Task(system, start, (t0, t1), options, tolerance)
    longest = jnp.asarray(jnp.inf, dtype)
    if not (isinstance(method, GGL) and method.of_slow_motion):
        longest = LARGEST * jnp.abs(t1 - t0)
    if isinstance(method, GGL) and not isinstance(options.steps, EqualSteps):
        _, atol = filled_tolerances(options.rtol, options.atol, dtype)
        if not isinstance(atol, jax.core.Tracer) and atol == 0:
            raise ValueError("jaxspark.GGL needs atol > 0: coordinates may pass through zero.")
    return _as_arrays(integrator, longest, task, ts, shorter)


def _of_equal_steps(
    equal: EqualSteps, t0: Any, t1: Any, options: Options, dtype: Any
) -> tuple[Any, Any, Options]:
    """Of one size: errors, and with them tolerances, do not count."""
    names = ("rtol", "atol", "first_step", "max_step", "events")
    refuse = [name for name in names if options.asked()[name]]
    if refuse:
        raise ValueError(f"Equal steps have no {', '.join(refuse)}.")
    t0, h, number, _ = known_steps(equal, t0, t1, dtype)
    t1 = t0 + number * h if t1 is None else t1
    return t0, t1, options._replace(rtol=0.0, atol=jnp.inf, max_steps=number)


def _as_arrays(
    integrator: AbstractIntegrator, longest: Any, task: Task, ts: Any, shorter: float
) -> tuple[Any, ...]:
    """With options as arrays: no values are compiled for."""
    system, start, times, options, tolerance = task
    dtype = times[0].dtype
    rtol, atol = options.rtol, options.atol
    if not isinstance(options.steps, EqualSteps):
        rtol, atol = filled_tolerances(rtol, atol, dtype)
    longest = longest if options.max_step is None else jnp.asarray(options.max_step, dtype)
    first = jnp.asarray(jnp.nan if options.first_step is None else options.first_step, dtype)
    longest = longest / shorter
    tolerances = Tolerances(jnp.asarray(rtol, dtype), jnp.asarray(atol, dtype), longest)
    wanted = Wanted(
        options.save_every, isinstance(options.steps, EqualSteps), options.dense,
        options.multipliers, None if options.max_steps is None else int(options.max_steps),
        int(options.max_events), options.progress_meter, tolerance,
    )  # fmt: skip
    events = as_events(options.events)
    return system, integrator, *start, times, ts, first, tolerances, events, wanted
