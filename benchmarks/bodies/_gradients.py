"""Gradients of motions by all parameters by name: reverse, forward and by differences."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure
from . import _library as library, _linkages as linkages
from ._bicycle import bicycle, SPEED, straight
from ._found import pair, TINY
from ._random import mechanism as random_mechanism
from ._rolling import rattleback, steady_disk
from ._stewart import stewart


SECONDS, SAME, DIFFERENT = 0.1, 1e-9, 1e-9
TIGHT = {"rtol": 1e-12, "atol": 1e-12, "max_steps": 16384}
# Steps of Richardson's differences, a share of each parameter.
STEPS = np.array([4e-3, 2e-3, 1e-3])


def _bicycle() -> tuple[Any, tuple]:
    made = bicycle()
    return made, made.state({}, {"rear wheel": SPEED / 0.3, "free": straight()})


def _disk() -> tuple[Any, tuple]:
    made, velocities, *_ = steady_disk()
    return made, made.state({}, velocities)


def _of_file() -> tuple[Any, tuple]:
    both = pair(TINY, "two bodies")
    assert both is not None
    return both.ours, both.ours.state()


def _at_rest(made: Any) -> tuple[Any, tuple]:
    return made, made.state()


MODELS: dict[str, Callable[[], tuple[Any, tuple]]] = {
    "two bodies of a file": _of_file,
    "Jansen's linkage": linkages.jansen,
    "delta robot": linkages.delta,
    "Stewart platform": stewart,
    "Bricard's mechanism": library.bricard,
    "flyball governor": library.governor,
    "rolling disk": _disk,
    "rattleback": lambda: _at_rest(rattleback()[0]),
    "bicycle": _bicycle,
    "random mechanism": lambda: _at_rest(random_mechanism(np.random.default_rng(3))),
}


def gradients(tiny: bool) -> Iterator[Figure]:
    """Of a number of the final state, along a random direction of all parameters."""
    for name, made in list(MODELS.items())[: 1 if tiny else None]:
        apart, error = _compared(*made())
        yield at_most(f"{name}: gradient, reverse against forward", apart, SAME)
        yield at_most(f"{name}: gradient against differences", error, DIFFERENT)
        jax.clear_caches()


def _compared(mechanism: Any, start: tuple) -> tuple[float, float]:
    system, args = mechanism.system, mechanism.parameters
    y, z = start
    rng = np.random.default_rng(0)
    z = z + 0.1 * jnp.asarray(rng.normal(size=z.size))
    weights = [jnp.asarray(rng.normal(size=x.size)) for x in (y, z)]
    direction = jax.tree.map(lambda x: x * jnp.asarray(rng.normal(size=x.shape)), args)

    def end(args):
        state = jaxspark.project(system, 0.0, y, z, args, throw=False)
        found = jaxspark.solve(system, state.y, state.z, args, t1=SECONDS, **TIGHT)
        return jnp.sum(weights[0] * found.y1) + jnp.sum(weights[1] * found.z1)

    along = lambda s: end(jax.tree.map(lambda x, d: x + s * d, args, direction))
    gradient = jax.jit(jax.grad(end))(args)
    parts = jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, direction)
    reverse = float(sum(jax.tree.leaves(parts)))
    forward = float(jax.jit(lambda: jax.jvp(along, (0.0,), (1.0,))[1])())
    value = jax.jit(along)
    rates = np.array([float(value(h) - value(-h)) / (2 * h) for h in STEPS])
    while len(rates) > 1:
        order = 4.0 ** (len(STEPS) - len(rates) + 1)
        rates = (order * rates[1:] - rates[:-1]) / (order - 1)
    return abs(forward / reverse - 1), abs(float(rates[0]) / reverse - 1)
