"""Orders of convergence by regression."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .problems import Problem


ROUNDING = 1e-12

States = tuple[np.ndarray, ...]


def integrator(problem: Problem, method, t_end: float) -> Callable[[int], States]:
    """A function of the number of steps that returns `(y, z, multipliers)` at `t_end`.

    The steps are made in a loop whose length is not static: each method is compiled once.

    **Raises:** `RuntimeError`, from the function, if a step fails.
    """
    system, args = problem.system, problem.args

    @jax.jit
    def integrate(y, z, num_steps):
        h = (t_end - problem.t0) / num_steps.astype(y.dtype)

        def body(i, carry):
            y, z, good = carry
            t = problem.t0 + i.astype(y.dtype) * h
            y, z, _, info = jaxspark.step(system, method, t, y, z, h, None, args)
            return y, z, good & (info.result == jaxspark.RESULTS.successful)

        y, z, good = jax.lax.fori_loop(0, num_steps, body, (y, z, jnp.asarray(True)))
        reported = jaxspark.multipliers(system, t_end, y, z, args)
        both = jnp.concatenate(
            [jnp.ravel(x) for x in jax.tree.leaves((reported.lam, reported.psi))]
        )
        return (y, z, both), good & reported.converged

    def end(num_steps: int) -> States:
        states, good = integrate(
            jnp.asarray(problem.y0), jnp.asarray(problem.z0), jnp.asarray(num_steps)
        )
        if not bool(good):
            raise RuntimeError(f"{problem.name}, {method}, {num_steps} steps: a step failed.")
        return tuple(np.asarray(x) for x in states)

    return end


def slopes(
    problem: Problem,
    method,
    t_end: float,
    steps: Sequence[int],
    reference: States,
    rounding: float = ROUNDING,
) -> np.ndarray:
    """The slopes of log error over log step size, for y, z and the multipliers.

    **Raises:** `RuntimeError` if an error is below `rounding`: rounding errors would decide.
    """
    end = integrator(problem, method, t_end)
    errors = []
    for num_steps in steps:
        pairs = zip(end(num_steps), reference, strict=True)
        errors.append([np.max(np.abs(a - b)) for a, b in pairs])
        if min(errors[-1]) < rounding:
            raise RuntimeError(f"{method}, {num_steps} steps: rounding errors would decide.")
    h = np.log((t_end - problem.t0) / np.asarray(steps))
    return np.array([np.polyfit(h, np.log(e), 1)[0] for e in np.array(errors).T])
