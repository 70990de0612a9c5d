"""Trajectories per second of a batch of pendulums."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import Figure
from .._result import ours, Result
from ._pendulums import cartesian, END, GRAVITY, starts, system
from ._rates import in_jax, judge, of_batch


LANES = 1024
# Of up to a few hundred lanes XLA makes few kernels; 1024 at once take five times as long.
WINDOW = 64
TARGET = 10_000  # per second
ORDER, COUNTS = 8, (60, 80, 100, 120, 140, 160)
MUJOCO = {0.01: 64, 0.001: 24}  # how many of the trajectories, by step size


def measure_batch(tiny: bool) -> Iterator[Result]:
    """1024 pendulums for 10 s: ours, the hand-reduced equation, the KKT ODE, MuJoCo."""
    angle, rate, length = (jnp.asarray(x) for x in starts(8 if tiny else LANES))
    x0 = jnp.stack([angle, rate], 1)
    problem = f"{angle.size} pendulums, {END:g} s"
    exact = np.asarray(jax.jit(_reduced(1e-13))(x0, length))
    y0, z0 = cartesian(angle, rate, length)
    for steps in COUNTS[:1] if tiny else COUNTS:
        solver = ours(f"RATTLE composed to order {ORDER}, in windows of {WINDOW}")
        given = (y0, z0, length)
        yield in_jax(problem, solver, f"{steps} steps", _composed(steps), given, exact)
    for tolerance in () if tiny else (1e-8, 1e-9):  # the code that made `exact`
        words = peers.tolerance(tolerance)
        solver, run = peers.BY_HAND, _reduced(tolerance)
        yield in_jax(problem, solver, words, run, (x0, length), exact)
    for tolerance in (1e-5,) if tiny else (1e-9, 1e-10):
        words, both = peers.tolerance(tolerance), jnp.concatenate([y0, z0], 1)
        run = peers.drifting_lanes(peers.Pendulum, END, tolerance)
        yield in_jax(problem, peers.KKT_ODE, words, run, (both, length), exact)
    if peers.available("mujoco"):
        for step, count in {0.01: 2}.items() if tiny else MUJOCO.items():
            models = zip(map(peers.pendulum_model, length.tolist()), *map(np.asarray, (y0, z0)))
            rollouts = peers.Rollouts(list(models)[:count], END, step)
            end, seconds = peers.least_seconds(rollouts)
            words = f"{round(END / step)} steps"
            yield of_batch(problem, peers.MuJoCo.name, words, end, seconds, exact, angle.size)


def judge_batch(results: Sequence[Result]) -> Iterator[Figure]:
    """The rate at the error."""
    return judge(results, TARGET)


def _composed(steps: int):
    method = jaxspark.Composition(jaxspark.Lobatto(2), ORDER)

    def run(y, z, length):
        solution = jaxspark.rollout(
            system(),
            y,
            z,
            length,
            method=method,
            t1=END,
            num_steps=steps,
            save_every=None,
            throw=False,
        )
        worst = jnp.maximum(solution.stats.max_g, solution.stats.max_gdot)
        return jnp.concatenate([solution.y1, solution.z1]), worst

    return jaxspark.batch.in_windows(run, WINDOW)


def _reduced(tolerance: float):
    def field(x: Any, length: Any) -> Any:
        return [x[1], -GRAVITY / length * jnp.sin(x[0])]

    def expand(x: Any, length: Any) -> Any:
        return cartesian(x[0], x[1], length)

    return peers.reduced_lanes(field, expand, END, tolerance)
