"""A method chosen by the first steps, and the reason in words."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.core
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._adaptive import DOP853, underlying_ode
from .._custom_types import Args, State
from .._results import RESULTS
from .._stiff import GGL
from .._system import AbstractConstrainedSystem
from .._tableau import AbstractSparkMethod, Gauss, RadauIIA
from ._default import default_method, ideal
from ._options import beyond_explicit, Options


# Steps of DOP853 after which more is known about a motion.
TRIED = 64
# Its steps are stable up to about 6 times the reciprocal of a rate: near that, they are limited by
# it. Fewer steps than so many are made sooner than another method is compiled.
LIMITED, BEARABLE = 4.0, 2000
ITERATIONS = 30


class Choice(NamedTuple):
    """A method, and why."""

    method: AbstractSparkMethod | GGL | DOP853
    why: str


class Tried(NamedTuple):
    """What the first steps were: the solution, and the interval that they were to cover."""

    solution: Any
    span: float


def choose_before(system: AbstractConstrainedSystem, z0: State, options: Options) -> Choice | None:
    """The method where options or the system leave no choice."""
    found = default_method(system, z0, options)
    if isinstance(found, DOP853):
        return None
    if not isinstance(options.steps, type(None)):
        return Choice(found, "steps are not chosen by tolerances")
    asked = beyond_explicit(options)
    if asked:
        return Choice(found, f"explicit methods have no {', '.join(asked)}")
    if not ideal(system):
        return Choice(found, "explicit methods are for ideal constraint forces")
    return Choice(found, "linear systems of so many bodies are solved block by block")


def choose_after(system: AbstractConstrainedSystem, args: Args, tried: Tried) -> Choice:
    """The method, by how far the first steps came and by what limits their size.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.2, stiffness
    detection by the step size times a rate; here the rate is found by iterating with the Jacobian.
    """
    found, stats = tried.solution, tried.solution.stats
    if bool(found.result == RESULTS.singular):
        return Choice(Gauss(3), "accelerations are not determined: massless coordinates, perhaps")
    steps, covered = int(stats.num_steps), abs(float(found.t1 - found.ts[0]))
    if bool(found.successful):
        return Choice(DOP853(), f"{steps} steps reach the end")
    if not covered > 0:
        return Choice(Gauss(3), "explicit steps fail at the start")
    size = covered / max(steps, 1)
    expected = round(steps * tried.span / covered)
    rate = largest_rate(system, found.t1, found.y1, found.z1, args)
    if size * rate < LIMITED:
        return Choice(DOP853(), f"about {expected} steps, limited by accuracy")
    words = f"a rate of {rate:.2g} per unit of time limits explicit steps, about {expected}"
    if expected <= BEARABLE:
        return Choice(DOP853(), f"{words}, not too many")
    return Choice(GGL(RadauIIA(3)), f"{words}; what is as fast is damped, not resolved")


@eqx.filter_jit
def _growth(system, t, y, z, args) -> jax.Array:
    """`|J^n x|^(1/n)` of the Jacobian of the underlying ODE, in the mean of the last iterations."""
    flat, unravel = jax.flatten_util.ravel_pytree((y, z))
    field = underlying_ode(system)

    def rates(x):
        return jax.flatten_util.ravel_pytree(field(t, unravel(x), args))[0]

    _, product = jax.linearize(rates, flat)

    def trip(x, _):
        x = product(x)
        size = jnp.sqrt(jnp.sum(x**2))
        return x / jnp.where(size > 0, size, 1), jnp.log(jnp.maximum(size, 1e-30))

    start = jnp.asarray(np.random.default_rng(0).standard_normal(flat.size), flat.dtype)
    _, logs = jax.lax.scan(trip, start, None, 2 * ITERATIONS)
    return jnp.exp(jnp.mean(logs[ITERATIONS:]))


def largest_rate(
    system: AbstractConstrainedSystem, t: Any, y: State, z: State, args: Args
) -> float:
    """About the largest eigenvalue, by size, of the underlying ODE, per unit of time."""
    return float(_growth(system, t, y, z, args))


def check_known(*values: Any) -> None:
    """Raise if a value is traced: a method is chosen before anything is compiled.

    **Raises:** `ValueError`.
    """
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(values)):
        raise ValueError(
            'method="auto" looks at the motion before anything is compiled: call solve outside of '
            "jax.jit, jax.grad and jax.vmap once, and use the method that solution.method tells."
        )
