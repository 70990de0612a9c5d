"""Derivatives through stiff springs: two modes, differences, and what they cost."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import GGL, RadauIIA

from .._figures import at_most, Figure


# Mass (kg), the length inside the constraint (m), stiffness (N/m), damping (N s/m) and gravity.
# In stiffer springs the damping has no effect that a difference could tell from rounding.
ARGS = {"m": 1.3, "l": 0.8, "k": 400.0, "d": 6.0}
STIFF = {**ARGS, "k": 1e6, "d": 300.0}
GRAVITY = 9.81
FACTOR = 3


def gradients(tiny: bool) -> Iterator[Figure]:
    """Of an end state by stiffness, damping, mass and length, through GGL and through BDF."""
    for name, value in _given_steps(5 if tiny else 40).items():
        yield from _agreement(name, value)
    if not tiny:
        yield from _agreement("BDF cm_step", _by_bdf, _by_many_stages)
        yield from _cost()


def _mechanism() -> jaxspark.stiff.Elongated:
    """A rigid link of length `l`, and a mass on a spring at its end."""

    def mass(t, q, args):
        return args["m"] * jnp.eye(4, dtype=q.dtype)

    def weight(t, q, v, args):
        return -args["m"] * GRAVITY * jnp.zeros_like(q).at[1::2].set(1.0)

    def link(t, q, args):
        return (jnp.sum(q[:2] ** 2, keepdims=True) - args["l"] ** 2) / 2

    def spring(t, q, args):
        return jnp.sqrt(jnp.sum((q[2:] - q[:2]) ** 2)) - 1.0

    free = jaxspark.MechanicalSystem(mass, weight, link)
    return jaxspark.stiff.Elongated(free, spring, lambda args: args["k"], lambda args: args["d"])


def _start(system: jaxspark.stiff.Elongated, args: Any) -> tuple[Any, Any]:
    """At rest, 0.6 and 1 rad from the vertical, the spring bearing the tension of a rod."""
    first, second = (np.array([np.sin(a), -np.cos(a)]) for a in (0.6, 1.0))
    rows = np.block([[first, np.zeros(2)], [-second, second]])
    tension = np.linalg.solve(rows @ rows.T, rows @ np.array([0, -1, 0, -1.0]))[1]
    longer = 1 + args["m"] * GRAVITY * tension / args["k"]
    q = jnp.concatenate([args["l"] * first, args["l"] * first + longer * second])
    return jaxspark.stiff.elongate(system, 0.0, q, jnp.zeros(4), args)


def _read(y: Any, z: Any) -> jax.Array:
    return jnp.sum(y[0] ** 3) + jnp.sum(z[0]) + jnp.sum(z[1])


def _given_steps(steps: int) -> dict[str, Callable[[Any], jax.Array]]:
    """Functions of `args`, whose step sizes do not depend on them."""
    system = _mechanism()

    def by_ggl(stages):
        def value(args):
            y0, z0 = _start(system, args)
            end = jaxspark.solve(
                system, y0, z0, args, method=GGL(RadauIIA(stages)), t1=1.0, max_steps=128,
                steps=jaxspark.EqualSteps(steps), throw=False,
            )  # fmt: skip
            return _read(end.y1, end.z1)

        return value

    return {f"GGL Radau IIA({stages})": by_ggl(stages) for stages in (2, 3)}


def _by_bdf(args: Any) -> jax.Array:
    """A function of `args` by so many steps that it does not matter which."""
    system = _mechanism()
    y0, z0 = _start(system, args)
    end = jaxspark.stiff.bdf(
        system, y0, z0, args, t1=0.3, rtol=1e-12, max_order=5, max_steps=4000,
        error_norm="positions and velocities", throw=False,
    )  # fmt: skip
    return _read(end.y1, end.z1)


def _by_many_stages(args: Any) -> jax.Array:
    """The same motion, without the errors of many small steps, which differences magnify."""
    system = _mechanism()
    y0, z0 = _start(system, args)
    end = jaxspark.solve(
        system, y0, z0, args, method=GGL(RadauIIA(5)), t1=0.3, rtol=1e-12, max_steps=256,
    )  # fmt: skip
    return _read(end.y1, end.z1)


def _agreement(
    name: str,
    value: Callable[[Any], jax.Array],
    same: Callable[[Any], jax.Array] | None = None,
) -> Iterator[Figure]:
    """Forward against reverse, and against Richardson's extrapolation of differences.

    These are of `same`, if it is given, in place of `value`.
    """
    args = {key: jnp.asarray(x) for key, x in ARGS.items()}
    value = jax.jit(value)
    differenced = value if same is None else jax.jit(same)
    reverse, forward = jax.jit(jax.grad(value))(args), jax.jit(jax.jacfwd(value))(args)
    for key, words in {"k": "stiffness", "d": "damping", "m": "mass", "l": "length"}.items():

        def moved(by, key=key):
            return float(differenced({**args, key: args[key] * (1 + by)}))

        slopes = [(moved(h) - moved(-h)) / (2 * h) for h in (1e-2, 5e-3, 2.5e-3)]
        once = [(4 * b - a) / 3 for a, b in zip(slopes, slopes[1:])]
        difference = (16 * once[1] - once[0]) / 15 / ARGS[key]
        what = f"{name}, derivative by the {words}"
        size = abs(difference)
        apart = abs(float(reverse[key] - forward[key])) / size
        yield at_most(f"{what}: reverse against forward", apart, 1e-10)
        off = abs(float(reverse[key]) - difference) / size
        yield at_most(f"{what}: against differences", off, 1e-6)


def _cost() -> Iterator[Figure]:
    """CPU time of value and gradient over that of the value, adaptive steps."""
    system = _mechanism()

    def by_ggl(stages):
        def value(args):
            y0, z0 = _start(system, args)
            end = jaxspark.solve(
                system, y0, z0, args, method=GGL(RadauIIA(stages)), t1=2.0, rtol=1e-5,
                max_steps=256,
                throw=False,
            )  # fmt: skip
            return _read(end.y1, end.z1)

        return value

    def by_bdf(args):
        y0, z0 = _start(system, args)
        end = jaxspark.stiff.bdf(
            system, y0, z0, args, t1=2.0, rtol=1e-5, max_steps=1024, throw=False
        )
        return _read(end.y1, end.z1)

    values = {f"GGL Radau IIA({stages})": by_ggl(stages) for stages in (2, 3)}
    args = {key: jnp.asarray(x) for key, x in STIFF.items()}
    for name, value in {**values, "BDF cm_step": by_bdf}.items():
        ratio = _ratio((jax.jit(value), jax.jit(jax.value_and_grad(value))), args)
        yield at_most(f"{name}, value and gradient over value", ratio, FACTOR, ".2f")


def _ratio(both: tuple[Any, Any], args: Any, rounds: int = 15, times: int = 5) -> float:
    """The least of several, interleaved."""
    least = [np.inf, np.inf]
    for function in both:
        jax.block_until_ready(function(args))
    for _ in range(rounds):
        for index, function in enumerate(both):
            start = time.process_time()
            for _ in range(times):
                jax.block_until_ready(function(args))
            least[index] = min(least[index], time.process_time() - start)
    return least[1] / least[0]
