"""JAX's transformations of adaptive solutions: batches, derivatives, memory."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ..problems import pendulum


METHOD = jaxspark.Gauss(3)


def end(theta, tolerance=1e-9, t1=2.0, max_steps=512, method=METHOD):
    """A function of the end of the pendulum's motion: `theta` is its length and gravity."""
    problem = pendulum()
    length, gravity = theta
    args = dict(problem.args, l=length, g=gravity)
    start = jaxspark.project(problem.system, 0.0, length * problem.y0, problem.z0, args)
    solution = jaxspark.solve(
        problem.system, start.y, start.z, args, method=method, t1=t1, rtol=tolerance,
        max_steps=max_steps, throw=False,
    )  # fmt: skip
    return jnp.sum(solution.y1**3) + solution.z1[0], solution.stats.num_steps


def fixed(theta):
    """The same by many equal steps."""
    problem = pendulum()
    args = dict(problem.args, l=theta[0], g=theta[1])
    solution = jaxspark.rollout(
        problem.system, theta[0] * problem.y0, problem.z0, args, method=METHOD, t1=2.0,
        num_steps=400,
        save_every=None,
    )  # fmt: skip
    return jnp.sum(solution.y1**3) + solution.z1[0]


def transforms(tiny: bool) -> Iterator[Figure]:
    """jit, vmap over 1024 lanes, grad, jvp, second derivatives."""
    theta = jnp.array([1.0, 9.81])
    yield from _batch(4 if tiny else 1024)

    def value(theta):
        return end(theta)[0]

    yield at_most(
        "jit: value against 400 equal steps",
        abs(float(jax.jit(value)(theta) - jax.jit(fixed)(theta))), 1e-7,
    )  # fmt: skip
    modes: dict[str, Callable] = {"grad": jax.grad, "jvp (jacfwd)": jax.jacfwd}
    exact = jax.jit(jax.jacrev(fixed))(theta)
    first = {name: jax.jit(mode(value))(theta) for name, mode in modes.items()}
    for name, found in first.items():
        error = float(jnp.max(jnp.abs(found - exact)))
        yield at_most(f"{name}: against that of 400 equal steps", error, 1e-6)
    apart = float(jnp.max(jnp.abs(first["grad"] - first["jvp (jacfwd)"])))
    yield at_most("grad against jvp", apart, 1e-11)
    if tiny:
        return
    second = jax.jit(jax.hessian(fixed))(theta)
    orders = {
        "forward over reverse": lambda f: jax.jacfwd(jax.jacrev(f)),
        "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
        "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    }
    for name, mode in orders.items():
        error = float(jnp.max(jnp.abs(jax.jit(mode(value))(theta) - second)))
        yield at_most(f"second derivative, {name}: against 400 equal steps", error, 1e-5)
    yield from _through_events()
    yield from _memory(theta)


def _batch(lanes: int) -> Iterator[Figure]:
    generator = np.random.default_rng(3)
    thetas = jnp.asarray(np.array([1.0, 9.81]) * generator.uniform(0.7, 1.3, (lanes, 2)))
    tolerances = jnp.asarray(10.0 ** generator.uniform(-10, -3, lanes))
    values, steps = jax.jit(jax.vmap(end))(thetas, tolerances)
    single = jax.jit(end)
    chosen = range(0, lanes, max(1, lanes // 64))
    worst = max(
        abs(float(values[i] - single(thetas[i], tolerances[i])[0])) for i in chosen
    )  # fmt: skip
    spread = f"{int(steps.min())} to {int(steps.max())} steps"
    what = f"vmap of {lanes} lanes, rtol = 1e-3 .. 1e-10, {spread}"
    yield at_most(f"{what}: against a loop", worst, 1e-11)
    gradients = jax.jit(jax.vmap(jax.grad(lambda *x: end(*x)[0])))(thetas, tolerances)
    alone = jax.jit(jax.grad(lambda *x: end(*x)[0]))
    some = list(chosen)[:: max(1, len(chosen) // 8)]
    worst = max(
        float(jnp.max(jnp.abs(gradients[i] - alone(thetas[i], tolerances[i])))) for i in some
    )
    yield at_most(f"{what}: gradients against a loop", worst, 1e-9)


def _through_events() -> Iterator[Figure]:
    """A ball that bounces three times, against the formula."""

    def lagrangian(t, q, v, args):
        del t
        return 0.5 * jnp.sum(v**2) - args[0] * q[1]

    system = jaxspark.LagrangianSystem(lagrangian, holonomic=lambda t, q, args: q[0])
    bounce = jaxspark.impact(system, lambda t, q, args: q[1], lambda args: args[1])
    floor = jaxspark.Event(lambda t, q, v, args: q[1], direction=False, reset=bounce)

    def height(theta):
        solution = jaxspark.solve(
            system, jnp.array([0.0, 1.0]), jnp.zeros(2), theta, method=jaxspark.Gauss(2), t1=2.0,
            events=floor, max_events=3, max_steps=64, throw=False,
        )  # fmt: skip
        return solution.y1[1]

    def exact(theta):
        gravity, e = theta
        speed, fall = jnp.sqrt(2 * gravity), jnp.sqrt(2 / gravity)
        since = 2.0 - fall - 2 * (e + e**2) * speed / gravity
        return e**3 * speed * since - gravity / 2 * since**2

    theta = jnp.array([9.81, 0.8])
    modes: dict[str, tuple[Callable, Callable]] = {
        "gradient, reverse": (jax.jacrev, jax.jacrev),
        "gradient, forward": (jax.jacfwd, jax.jacrev),
        "second derivative, forward over forward": (
            lambda f: jax.jacfwd(jax.jacfwd(f)), jax.hessian,
        ),
    }  # fmt: skip
    for name, (mode, known) in modes.items():
        error = jnp.max(jnp.abs(jax.jit(mode(height))(theta) - known(exact)(theta)))
        yield at_most(f"{name}, through three impacts: against the formula", float(error), 1e-8)


def _memory(theta) -> Iterator[Figure]:
    """Temporary memory of a gradient, as the compiler states it."""
    words = []
    for max_steps in (256, 4096):

        def value(theta, max_steps=max_steps):
            return end(theta, max_steps=max_steps)[0]

        compiled = jax.jit(jax.grad(value)).lower(theta).compile()
        statistics = compiled.memory_analysis()
        size = 0 if statistics is None else statistics.temp_size_in_bytes
        words.append(f"{size / 1024:.0f} KiB for max_steps = {max_steps}")
    yield note("temporary memory of a gradient", ", ".join(words))
