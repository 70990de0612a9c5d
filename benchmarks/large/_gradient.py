"""The gradient by the masses of all bodies of a long chain: cost, memory, correctness."""

import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ._chains import Model, planar_chain
from ._integrate import small_step
from ._measure import call_seconds


def gradient(tiny: bool) -> Iterator[Figure]:
    """In reverse mode, of what the bodies have moved in equal steps."""
    steps = 2 if tiny else 40
    for n in (8,) if tiny else (32, 512):
        model = planar_chain(n)
        loss, masses = _loss(model, steps), jnp.asarray(model.args["masses"])
        what = f"{model.name}, {steps} steps of Gauss(3), by {n} masses"
        value = jax.jit(loss).lower(masses).compile()
        both = jax.jit(jax.value_and_grad(loss)).lower(masses).compile()
        yield from _cost(what, value, both, masses, steps)
        forward = jax.jit(lambda direction: jax.jvp(loss, (masses,), (direction,))[1])
        yield from _agreement(what, value, forward, masses, both(masses)[1])


def _loss(model: Model, steps: int) -> Callable[[jax.Array], jax.Array]:
    """The squared distances of the ends from the starts, as multiples of that of free fall."""
    h = 2 * small_step(model.bodies)
    fall = model.args["gravity"] * (h * steps) ** 2 / 2

    def loss(masses):
        args = {**model.args, "masses": masses}
        solution = jaxspark.rollout(
            model.system, model.y0, model.z0, args, method=jaxspark.Gauss(3), h=h, num_steps=steps,
            save_every=None, throw=False,
        )  # fmt: skip
        # NaN where a step fails, so that no cost and no agreement passes for one.
        good = solution.result == jaxspark.RESULTS.successful
        moved = jnp.sum(((solution.y1 - model.y0)[:, :2] / fall) ** 2)
        return jnp.where(good, moved, jnp.nan)

    return loss


def _cost(what: str, value: Any, both: Any, masses: jax.Array, steps: int) -> Iterator[Figure]:
    good = bool(jnp.isfinite(value(masses)))
    yield Figure(f"{what}: all steps succeed", "True", str(good), good)
    alone, together = (call_seconds(run, masses, repeats=3) for run in (value, both))
    words = f"{1e3 * alone:.4g}, {1e3 * together:.4g}"
    yield note(f"{what}: CPU ms of the value, of value and gradient", words)
    what_ratio = f"{what}: CPU time of value and gradient over value"
    yield at_most(what_ratio, together / alone, 2.5, ".2f")
    memory = both.memory_analysis()
    if memory is not None:
        total = memory.temp_size_in_bytes
        words = f"{total / 1e6:.4g}, {total / 1e3 / steps:.4g}"
        yield note(f"{what}: temporary MB of value and gradient, kB for each step", words)
    # In bytes on macOS, else in kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak /= 1e6 if sys.platform == "darwin" else 1e3
    yield note(f"{what}: greatest MB of this process so far", f"{peak:.0f}")


def _agreement(
    what: str, value: Any, forward: Any, masses: jax.Array, reverse: jax.Array
) -> Iterator[Figure]:
    """Along two directions, next to forward mode and to extrapolated differences."""
    n = masses.size
    # One that changes slowly along the chain, and one that has nothing regular.
    slow = np.linspace(-1.0, 1.0, n)
    rough = np.random.default_rng(0).normal(size=n)
    for words, shape in (("slow", slow), ("rough", rough)):
        direction = jnp.asarray(shape) * masses
        along = float(jnp.sum(reverse * direction))
        # A sum of terms of both signs is as accurate as these are.
        size = float(jnp.sum(jnp.abs(reverse * direction)))
        apart = abs(along - float(forward(direction))) / size
        yield at_most(f"{what}, {words} change: reverse against forward", apart, 1e-9)
        off = abs(along - _difference(value, masses, direction)) / size
        yield at_most(f"{what}, {words} change: against differences", off, 1e-7)


def _difference(value: Any, masses: jax.Array, direction: jax.Array) -> float:
    """Richardson's extrapolation, twice, of central differences."""

    def slope(h):
        return float(value(masses + h * direction) - value(masses - h * direction)) / (2 * h)

    slopes = [slope(h) for h in (4e-2, 2e-2, 1e-2)]
    once = [(4 * b - a) / 3 for a, b in zip(slopes, slopes[1:])]
    return (16 * once[1] - once[0]) / 15
