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
# The odd part is fitted over parameters that change by at most this share of themselves.
SHARES, POINTS, ODD = (4e-3, 1e-2, 2e-2, 4e-2, 8e-2), 16, 9


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

    def end(args, **options):
        state = jaxspark.project(system, 0.0, y, z, args, throw=False)
        found = jaxspark.solve(system, state.y, state.z, args, t1=SECONDS, **TIGHT, **options)
        reached = jnp.sum(weights[0] * found.y1) + jnp.sum(weights[1] * found.z1)
        return jnp.where(found.successful, reached, jnp.nan)

    def along(s, **options):
        return end(jax.tree.map(lambda x, d: x + s * d, args, direction), **options)

    gradient = jax.jit(jax.grad(end))(args)
    parts = jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, direction)
    reverse = float(sum(jax.tree.leaves(parts)))
    forward = float(jax.jit(lambda: jax.jvp(along, (0.0,), (1.0,))[1])())
    slope = _slope(jax.jit(lambda s: along(s, throw=False)))
    return abs(forward / reverse - 1), abs(slope / reverse - 1)


def _slope(value: Callable[[float], Any]) -> float:
    """The derivative at 0, of half the differences of values at plus and minus each point.

    A Chebyshev series of half as many terms as there are points, fitted by least squares, tells by
    what is left how wrong it is: it is that of the share at which the derivative is least so. There
    may be no motion with larger ones.
    """
    points = np.cos(np.pi * (np.arange(POINTS) + 0.5) / (2 * POINTS))
    odd = np.polynomial.chebyshev.chebvander(points, 2 * ODD - 1)[:, 1::2]
    rates = (-1.0) ** np.arange(ODD) * (2 * np.arange(ODD) + 1)  # of odd T_k at 0
    found = []
    for share in SHARES:
        halves = np.array([float(value(share * x) - value(-share * x)) / 2 for x in points])
        if not np.all(np.isfinite(halves)):
            break
        terms, left, *_ = np.linalg.lstsq(odd, halves)
        found.append((float(left[0]) / share**2, float(rates @ terms) / share))
    return min(found)[1]
