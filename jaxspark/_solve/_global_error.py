"""The error of a whole motion, by a second one with smaller tolerances."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar, State
from .._implicit import stop_gradient
from .._motion import solve_motion
from .._results import RESULTS
from .._rollout import GlobalError, Solution
from ._engines import motion_arguments, Task
from ._integrators import integrator_of
from ._times import filled_tolerances


# How many times as many steps the second motion takes.
MORE_STEPS = 1.4
# Of the tolerances: beyond that a solution is told to be lost.
LOST = 100


def global_error(solution: Solution, method: Any, task: Task) -> GlobalError:
    """Its estimate for a solution with steps that follow from tolerances.

    The error is proportional to the tolerances, or to a power of the longest step where that limits
    steps: with tolerances `r` times smaller, and a longest step to suit, the difference of the two
    solutions is `1 - 1/r` of it. No derivative flows through it. Rounding errors do not fall
    with tolerances: where those are near them, estimates are too small by them.

    **Raises:** `ValueError` for steps whose sizes are known.

    Source: L. F. Shampine, *Global error estimation with one-step methods*, Comput. Math. Appl. 12A
    (1986), for tolerance proportionality and reintegration.
    """
    options = task.options
    if options.steps is not None:
        raise ValueError(
            "global_error compares with smaller tolerances: it is for steps whose sizes follow "
            "from them. Of steps of known sizes, compare two numbers of steps."
        )
    integrator = integrator_of(method, options.newton, options.linear_solver, options.predict)
    ratio = MORE_STEPS ** integrator.orders[1]
    dtype = solution.t1.dtype
    rtol, atol = filled_tolerances(options.rtol, options.atol, dtype)
    least = 10 * jnp.finfo(dtype).eps
    tighter = jnp.maximum(rtol / ratio, least)
    steps = options.max_steps
    finer = options._replace(
        rtol=tighter, atol=atol / ratio, dense=False,
        max_steps=None if steps is None else math.ceil(MORE_STEPS * steps) + 1,
        ts=options.ts if options.save_every is None else solution.ts, save_every=None,
    )  # fmt: skip
    # Where the longest step limits all others, too, the second motion has steps of its own.
    task = stop_gradient(task._replace(options=finer))
    arguments = motion_arguments(method, task, shorter=MORE_STEPS)
    # Tolerances are limited by rounding errors.
    ratio = jnp.clip(jnp.where(rtol > 0, rtol / tighter, ratio), 2, ratio)
    return _compared(stop_gradient(solution), solve_motion(*arguments), rtol, atol, ratio)


@eqx.filter_jit
def _compared(
    solution: Solution, finer: Solution, rtol: Any, atol: Any, ratio: FloatScalar
) -> GlobalError:
    both = (solution.result == RESULTS.successful) & (finer.result == RESULTS.successful)
    same = (solution.ts == finer.ts) & both
    scale = ratio / (ratio - 1)

    def errors(a: State, b: State, known: Bool[Array, "..."]) -> State:
        def error(a, b):
            shape = known.shape + (1,) * (a.ndim - known.ndim)
            return jnp.where(known.reshape(shape), scale * (a - b), jnp.nan)

        return jax.tree.map(error, a, b)

    y, z = errors(solution.ys, finer.ys, same), errors(solution.zs, finer.zs, same)
    y1, z1 = errors(solution.y1, finer.y1, both), errors(solution.z1, finer.z1, both)
    multipliers = None
    if solution.multipliers is not None and finer.multipliers is not None:
        own, other = solution.multipliers, finer.multipliers
        multipliers = errors((own.lam, own.psi), (other.lam, other.psi), same)
    sizes = jax.vmap(lambda x, e: _in_tolerances(x, e, rtol, atol))(
        (solution.ys, solution.zs), (y, z)
    )
    at_end = _in_tolerances((solution.y1, solution.z1), (y1, z1), rtol, atol)
    lost = ~(sizes <= LOST) & same
    first = jnp.min(jnp.where(lost, jnp.arange(sizes.size), sizes.size), initial=sizes.size)
    times = jnp.concatenate([solution.ts, jnp.where(at_end > LOST, solution.t1, jnp.nan)[None]])
    return GlobalError(
        y, z, y1, z1, multipliers, jnp.maximum(jnp.nanmax(sizes), at_end), times[first]
    )


def _in_tolerances(x: Any, error: Any, rtol: Any, atol: Any) -> FloatScalar:
    """The greatest error of an entry, as a multiple of what is tolerated."""
    sizes: list[Float[Array, ""]] = [
        jnp.max(jnp.abs(e) / (atol + rtol * jnp.abs(a)), initial=0)
        for a, e in zip(jax.tree.leaves(x), jax.tree.leaves(error), strict=True)
    ]
    return jnp.max(jnp.stack(sizes))
