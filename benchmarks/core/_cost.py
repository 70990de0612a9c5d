"""What steps and gradients cost, single and in a batch, and how long they compile."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxspark

from .._figures import at_most, Figure, note
from ..problems import planar_chain


H = 0.005


class Timing(NamedTuple):
    """CPU seconds: to trace and compile, and to run once (the least of several runs)."""

    compile: float
    run: float


def timings(functions: list[Callable[..., Any]], *arguments: Any, rounds: int = 20) -> list[Timing]:
    """Compile each afresh, then run them in turn, so that they see the same machine.

    Process CPU time, which other processes distort least.
    """
    compiled, seconds = [], []
    for function in functions:
        jax.clear_caches()
        start = time.process_time()
        compiled.append(jax.jit(function).lower(*arguments).compile())
        seconds.append(time.process_time() - start)
    runs = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, run in enumerate(compiled):
            start = time.process_time()
            jax.block_until_ready(run(*arguments))
            runs[i] = min(runs[i], time.process_time() - start)
    return [Timing(*pair) for pair in zip(seconds, runs, strict=True)]


def cost(tiny: bool) -> Iterator[Figure]:
    """The pendulum (one link) and chains of 3, 8 and 20 links, s = 2 and 3."""
    jax.jit(lambda x: x + 1)(1.0)  # starting the compiler is not our cost
    sizes = {1: (2000, 20), 3: (1000, 10), 8: (300, 4), 20: (100, 2)}
    for links, (steps, batch_steps) in sizes.items():
        for stages in (2, 3):
            yield from _one(links, stages, steps, batch_steps)
            if tiny:
                return


def _one(links: int, stages: int, steps: int, batch_steps: int) -> Iterator[Figure]:
    problem = planar_chain(links)
    args = jax.tree.map(jnp.asarray, problem.args)
    y0, z0 = jnp.asarray(problem.y0), jnp.asarray(problem.z0)

    def loss(args, y0, num_steps=steps, checkpoint="stages"):
        solution = jaxspark.rollout(
            problem.system, y0, z0, args, method=jaxspark.Gauss(stages),
            h=H, num_steps=num_steps, save_every=None, throw=False, checkpoint=checkpoint,
        )  # fmt: skip
        return jnp.sum(solution.y1**3) + 0.1 * jnp.sum(solution.z1**2)

    def batch(args, y0):
        return jax.vmap(lambda y0: loss(args, y0, batch_steps))(y0)

    def gradient_of(checkpoint):
        return jax.value_and_grad(lambda args, y0: loss(args, y0, checkpoint=checkpoint))

    value, kept, everything = timings([loss, gradient_of("stages"), gradient_of("none")], args, y0)
    (many,) = timings([batch], args, jnp.tile(y0[None, :], (1024, 1)), rounds=3)
    what = f"{'pendulum' if links == 1 else f'{links}-link chain'}, Gauss({stages})"
    single, each = value.run / steps * 1e6, many.run / (1024 * batch_steps) * 1e6
    yield note(f"{what}: microseconds a step, single", f"{single:.2f}")
    yield note(f"{what}: microseconds a step and trajectory, vmap of 1024", f"{each:.2f}")
    parameters = sum(leaf.size for leaf in jax.tree.leaves(args))
    for keep, gradient in (("stages", kept), ("everything", everything)):
        yield at_most(
            f"{what}: value-and-gradient over value, {parameters} parameters, {keep} kept",
            gradient.run / value.run, 2.2, ".2f",
        )  # fmt: skip
        cost = f"{gradient.run / steps * 1e6:.2f}"
        yield note(f"{what}: microseconds a step, value and gradient, {keep} kept", cost)
    yield at_most(f"{what}: compile seconds, value", value.compile, 3, ".2f")
    yield at_most(f"{what}: compile seconds, gradient", kept.compile, 8, ".2f")
    yield note(f"{what}: compile seconds, vmap of 1024", f"{many.compile:.2f}")


def crossover(tiny: bool) -> Iterator[Figure]:
    """Up to which size of K2 each linear solver is the best, single and batched."""
    solvers = {
        "elementwise inverse": jaxspark.linear.ElementwiseInverse(),
        "LAPACK inverse": jaxspark.linear.DenseInverse(),
        "LU": jaxspark.linear.DenseLU(),
    }
    for links in (1,) if tiny else (1, 3, 5, 7, 10, 15):
        problem = planar_chain(links)
        words = []
        for name, solver in solvers.items():

            def end(y0, steps, solver=solver, problem=problem):
                solution = jaxspark.rollout(
                    problem.system, y0, problem.z0, problem.args, method=jaxspark.Gauss(2),
                    h=H, num_steps=steps, save_every=None, linear_solver=solver, throw=False,
                )  # fmt: skip
                return solution.y1

            y0 = jnp.asarray(problem.y0)
            (one,) = timings([lambda y0, end=end: end(y0, 200)], y0)
            lanes = jnp.tile(y0[None, :], (256, 1))
            (many,) = timings([jax.vmap(lambda y0, end=end: end(y0, 4))], lanes, rounds=3)
            microseconds = one.run / 200 * 1e6, many.run / (256 * 4) * 1e6
            words.append(f"{name} {microseconds[0]:.1f} and {microseconds[1]:.1f}")
        what = f"K2 of size {3 * links}: microseconds a step, single and in a vmap of 256"
        yield note(what, "; ".join(words))
