"""Derivatives: forward, reverse and differences; Hessians inside the scan."""

import functools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure
from ..problems import mixed, planar_chain


# Its start is found by a projection: once, and not inside a transformation.
mixed_once = functools.cache(mixed)

CHECKPOINTS = ("stages", "none", "sqrt", 3)


def chain_loss(theta: jax.Array, checkpoint="stages", num_steps: int = 9) -> jax.Array:
    """A loss of a two-link chain's motion.

    `theta = (m1, m2, l1, l2, gravity, angle1, angle2, rate1, rate2, h)`: masses, lengths that
    occur inside the constraints, initial angles and rates (consistent by construction) and
    the step size.
    """
    problem = planar_chain(2)
    masses, lengths, gravity, angles, rates, h = (
        theta[:2], theta[2:4], theta[4], theta[5:7], theta[7:9], theta[9],
    )  # fmt: skip
    along = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    across = jnp.stack([-jnp.sin(angles), jnp.cos(angles)], 1)
    y0 = jnp.cumsum(lengths[:, None] * along, 0).reshape(-1)
    z0 = jnp.cumsum((lengths * rates)[:, None] * across, 0).reshape(-1)
    solution = jaxspark.rollout(
        problem.system, y0, z0,
        {"masses": masses, "lengths": lengths, "gravity": gravity}, method=jaxspark.Gauss(2),
        h=h, num_steps=num_steps, save_every=3, checkpoint=checkpoint, throw=False,
    )  # fmt: skip
    return jnp.sum(solution.y1**3) + 0.1 * jnp.sum(solution.zs**2)


CHAIN_THETA = np.array([1.1, 0.7, 0.9, 1.2, 9.0, -0.3, -0.6, 0.4, -0.2, 0.02])


def mixed_loss(theta: jax.Array, method=jaxspark.Gauss(3)) -> jax.Array:
    """A loss of the mixed problem by `(m, amplitude, t0, h, y0, z0)`."""
    problem = mixed_once()
    args = dict(problem.args, m=theta[0], amplitude=theta[1])
    solution = jaxspark.rollout(
        problem.system, theta[4:8], theta[8:12], args, method=method,
        t0=theta[2], h=theta[3], num_steps=10, save_every=5, multipliers=True,
        consistency_tol=None, throw=False,
    )  # fmt: skip
    multipliers = solution.multipliers
    reactions = jnp.sum(multipliers.lam**2) + jnp.sum(multipliers.psi**3)
    return jnp.sum(solution.ys**3) + jnp.sum(jnp.sin(solution.zs)) + 0.1 * reactions


def mixed_theta() -> np.ndarray:
    """The parameters of `mixed_loss`."""
    problem = mixed_once()
    head = [problem.args["m"], problem.args["amplitude"], 0.0, 0.03]
    return np.concatenate([head, problem.y0, problem.z0])


def differences(function: Callable, at: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Central differences, extrapolated twice (Richardson): error `O(step^6)`."""

    def central(size):
        columns = []
        for index in range(at.size):
            move = np.zeros_like(at)
            move[index] = size
            columns.append((function(at + move) - function(at - move)) / (2 * size))
        return np.stack(columns, -1)

    one, two, four = central(step), central(step / 2), central(step / 4)
    first, second = (4 * two - one) / 3, (4 * four - two) / 3
    return (16 * second - first) / 15


def relative(a, b) -> float:
    """The largest difference relative to the largest entry."""
    return float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b)))


def first_order(loss: Callable, theta: np.ndarray) -> tuple[float, float]:
    """Relative differences of reverse from forward mode, and from differences."""
    reverse, forward = jax.jit(jax.grad(loss))(theta), jax.jit(jax.jacfwd(loss))(theta)
    return relative(reverse, forward), relative(reverse, differences(jax.jit(loss), theta))


def hessians(checkpoint, names=None) -> dict[str, float]:
    """Relative differences of three Hessians of the chain from differences of the gradient."""
    expected = _differenced_gradient()
    return second_order(lambda theta: chain_loss(theta, checkpoint), CHAIN_THETA, expected, names)


def second_order(loss: Callable, theta: np.ndarray, expected, names=None) -> dict[str, float]:
    """Relative differences of Hessians in three modes from the expected one."""
    modes = {
        "fwd(rev)": jax.jacfwd(jax.jacrev(loss)),
        "rev(rev)": jax.jacrev(jax.jacrev(loss)),
        "fwd(fwd)": jax.jacfwd(jax.jacfwd(loss)),
    }
    chosen = names or modes
    return {name: relative(jax.jit(modes[name])(theta), expected) for name in chosen}


@functools.cache
def _differenced_gradient() -> np.ndarray:
    return differences(jax.jit(jax.grad(chain_loss)), CHAIN_THETA)


def batch_against_loop(loss: Callable = chain_loss, theta: np.ndarray = CHAIN_THETA) -> float:
    """`vmap(grad)` against a loop over `grad`."""
    gradient = jax.grad(loss)
    thetas = theta[None, :] * (1 + 0.02 * np.arange(4)[:, None])
    single = jax.jit(gradient)
    return relative(jax.jit(jax.vmap(gradient))(thetas), np.stack([single(t) for t in thetas]))


def gradients(tiny: bool) -> Iterator[Figure]:
    """All of it."""
    cases = [("two-link chain (masses, lengths inside g, start, h)", chain_loss, CHAIN_THETA)]
    cases += [("mixed problem (mass, drive, t0, h, y0, z0)", mixed_loss, mixed_theta())]
    for name, loss, theta in cases[:1] if tiny else cases:
        forward, numeric = first_order(loss, theta)
        yield at_most(f"gradient, {name}: reverse against forward", forward, 1e-8)
        yield at_most(f"gradient, {name}: reverse against differences", numeric, 1e-8)
    if tiny:
        return
    for checkpoint in CHECKPOINTS:
        for mode, difference in hessians(checkpoint).items():
            what = f"Hessian in the scan, {mode}, checkpoint={checkpoint!r}: against differences"
            yield at_most(what, difference, 1e-7)
        jax.clear_caches()
    yield at_most("vmap(grad) against a loop", batch_against_loop(), 1e-12)
