"""Where a trial starts: given, or unknown and consistent by construction."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import Args, BoolScalar, State
from .._implicit import iterate
from .._system import AbstractConstrainedSystem, flatten
from ._tangent import MOST_CORRECTIONS, Tangent


class Start(eqx.Module):
    """How trials start.

    A fit does not estimate coordinates and velocities, which the constraints tie together, but as
    many numbers as there are degrees of freedom: coordinates along the tangent space at the guess.
    The state is the nearest one on the constraints, whatever the parameters are.

    **Arguments:**

    - `y`, `z`: guesses of coordinates and velocities, as for [`jaxspark.solve`][]; they need
        not be consistent. A list has one for each trial. Functions of `args` (what the system's
        functions get) give states that depend on parameters.
    - `unknown`: what is estimated: `"both"`, `"position"`, `"velocity"` or `"nothing"`.
    - `from_samples`: whether the guesses are first moved to where sensors show the first samples
        of each record; see [`jaxspark.fit.Start.from_channels`][].

    **Raises:** `ValueError` for another `unknown`, `TypeError` for a list of functions.
    """

    y: Any
    z: Any
    unknown: str = eqx.field(static=True, default="both")
    from_samples: bool = eqx.field(static=True, default=False)

    @staticmethod
    def from_channels(y: Any, z: Any, unknown: str = "both") -> "Start":
        """Starts that follow from the first samples of measured angles, rates, positions.

        For each record a consistent state is found that shows its first samples, and slopes of
        what shows coordinates alone: near one guess for all, for instance the mechanism as it is
        drawn, at rest. What no channel shows stays as it is guessed.

        **Arguments:**

        - `y`, `z`: a guess of the coordinates and velocities, near which all records start, or a
            list with one for each record. They need not be consistent. Where sensors cannot tell
            two configurations apart, elbow up and elbow down, they say which.
        - `unknown`: as for [`jaxspark.fit.Start`][].

        **Returns:** a [`jaxspark.fit.Start`][]. [`jaxspark.fit.estimate`][] raises `DataError` if
        no state near the guess shows the samples.

        **Raises:** `TypeError` if `y` or `z` is a function.
        """
        if callable(y) or callable(z):
            raise TypeError(
                "Start.from_channels: y and z are a state, not functions of args: where a record "
                "starts follows from its samples."
            )
        return Start(y, z, unknown, from_samples=True)

    def __check_init__(self):
        if self.unknown not in ("both", "position", "velocity", "nothing"):
            raise ValueError(
                'unknown must be "both", "position", "velocity" or "nothing"; got '
                f"{self.unknown!r}."
            )
        for name, given in (("y", self.y), ("z", self.z)):
            if isinstance(given, list) and any(map(callable, given)):
                raise TypeError(
                    f"Start: {name} is a list that has functions. Give one function for all "
                    "trials: what it needs of each can be a parameter with per_trial=True."
                )

    def guess(self, trial: int, num_trials: int, args: Args) -> tuple[State, State]:
        """Coordinates and velocities of a trial."""
        return _of("y", self.y, trial, num_trials, args), _of("z", self.z, trial, num_trials, args)

    def alone(self) -> list["Start"]:
        """A start for each entry of the lists of guesses; one if there are no lists."""
        lists = [given for given in (self.y, self.z) if isinstance(given, list)]
        pick = lambda given, k: given[k] if isinstance(given, list) else given
        count = len(lists[0]) if lists else 1
        return [
            Start(pick(self.y, k), pick(self.z, k), self.unknown, self.from_samples)
            for k in range(count)
        ]


def _of(name: str, given: Any, trial: int, num_trials: int, args: Args) -> State:
    if isinstance(given, list):
        if len(given) != num_trials:
            raise ValueError(
                f"Start: {len(given)} guesses of {name} are given for {num_trials} records."
            )
        given = given[trial]
    return given(args) if callable(given) else given


def initial_state(
    system: AbstractConstrainedSystem,
    like: tuple[State, State],
    at: Tangent,
    x: Float[Array, " d"],
    args: Args,
) -> tuple[State, State, BoolScalar]:
    """The consistent state with given tangent coordinates, and whether there is one.

    Newton's method, across the tangent space; differentiated by the implicit function theorem.

    **Arguments:**

    - `like`: a state of the system, for its structure.
    - `x`: coordinates along `at.along_y`, then velocities along `at.along_z`.
    """
    dy = at.along_y.shape[1]
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)
    flat, _, _ = flatten(system, at.t, *like, args)
    y, z = at.y + at.along_y @ x[:dy], at.z + at.along_z @ x[dy:]

    def g(mu):
        return flat.holonomic(at.t, y + at.across_y @ mu)

    mu = _root(g, jnp.zeros(at.across_y.shape[1], y.dtype))
    y = y + at.across_y @ mu

    def rates(nu):
        there = z + at.across_z @ nu
        parts = [flat.holonomic_rate(at.t, y, there), flat.nonholonomic(at.t, y, there)]
        return jnp.concatenate(parts)

    z = z + at.across_z @ _root(rates, jnp.zeros(at.across_z.shape[1], z.dtype))
    left = flat_residuals(flat, at.t, y, z)
    worst = jnp.max(jnp.stack([jnp.max(jnp.abs(part), initial=0) for part in left]))
    size = 1 + jnp.max(jnp.abs(y)) + jnp.max(jnp.abs(z), initial=0)
    return unravel_y(y), unravel_z(z), worst <= jnp.sqrt(jnp.finfo(y.dtype).eps) * size


def _root(function: Callable[[Array], Array], start: Float[Array, " n"]) -> Float[Array, " n"]:
    """A root near the start; as far as Newton's method comes, if there is none."""
    if start.shape[0] == 0:
        return start
    floor = 100 * jnp.finfo(start.dtype).eps

    def solve(function, start):
        def update(at):
            step = jnp.linalg.solve(jax.jacfwd(function)(at.x), function(at.x))
            return at.x - step, jnp.max(jnp.abs(step))

        def verdict(at):
            return at.size <= floor * (1 + jnp.max(jnp.abs(at.x))), ~(at.size < jnp.inf)

        return iterate(update, verdict, start, start, MOST_CORRECTIONS).x

    def tangent_solve(linear, rhs):
        return jnp.linalg.solve(jax.jacfwd(linear)(jnp.zeros_like(rhs)), rhs)

    return jax.lax.custom_root(function, start, solve, tangent_solve)
