"""The parts of a step: one, or those of a composition."""

from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._kkt import AbstractLinearSolver
from .._results import RESULTS
from .._step import (
    constant_guess,
    extrapolated_guess,
    flat_step,
    NewtonOptions,
    rattle_steps,
    Stages,
    StepInfo,
)
from .._system import FlatSystem
from .._tableau import RolloutMethod


Vector: TypeAlias = Float[Array, " n"]
# From the size of the next step over that of this one: starting values of the next step.
Follow: TypeAlias = Callable[[FloatScalar | float], Stages]
# From time, state, size and starting values: the new state, the next starting values, and what
# is known about the step.
WholeStep: TypeAlias = Callable[
    [FloatScalar, Vector, Vector, FloatScalar, Stages],
    tuple[Vector, Vector, Follow, StepInfo],
]


def whole_step(
    flat: FlatSystem,
    method: RolloutMethod,
    linear_solver: AbstractLinearSolver,
    newton: NewtonOptions,
    keep_factors: bool,
    predict: bool,
    structured: bool,
) -> WholeStep:
    """A step of a method, of all its parts.

    - `structured`: whether to solve for the multipliers of RATTLE alone.
    - Others: see [`jaxspark.solve`][].
    """
    tableau, parts = method.tableau, method.parts
    if structured:
        return _by_multipliers(flat, method, newton, predict)

    def one(t, y, z, size, guess):
        y1, z1, info = flat_step(
            flat, tableau, linear_solver, t, y, z, size, guess, newton, keep_factors
        )

        def follow(ratio):
            if predict:
                return extrapolated_guess(flat, tableau, y, z, info.stages, size, ratio)
            return constant_guess(flat, tableau, y1, z1)

        return y1, z1, follow, info

    if len(parts) == 1:
        return one

    def composed(t, y, z, size, guess):
        fractions = jnp.asarray(parts, y.dtype)
        starts = jnp.cumsum(fractions) - fractions
        # The step after this one, of about the same size, begins with the first part again.
        ratios = jnp.roll(fractions, -1) / fractions

        def part(carry, place):
            y, z, guess, iterations, result = carry
            fraction, start, ratio = place
            going = jnp.where(result == RESULTS.successful, fraction * size, 0)
            y1, z1, follow, info = one(t + start * size, y, z, going, guess)
            following = jax.lax.stop_gradient(follow(ratio))
            result = RESULTS.where(result == RESULTS.successful, info.result, result)
            return (y1, z1, following, iterations + info.iterations, result), None

        none = jnp.zeros((), jnp.int32)
        begin = (y, z, guess, none, RESULTS.successful)
        places = (fractions, starts, ratios)
        end, _ = jax.lax.scan(part, begin, places)
        y1, z1, following, iterations, result = end
        good = result == RESULTS.successful
        y1, z1 = jnp.where(good, y1, y), jnp.where(good, z1, z)
        return y1, z1, lambda ratio: following, StepInfo(following, iterations, result)

    return composed


def _by_multipliers(
    flat: FlatSystem, method: RolloutMethod, newton: NewtonOptions, predict: bool
) -> WholeStep:
    def steps(t, y, z, size, guess):
        lam = guess.lam[-1] if predict else jnp.zeros_like(guess.lam[-1])
        y1, z1, info = rattle_steps(flat, method.parts, t, y, z, size, lam, newton)
        following = constant_guess(flat, method.tableau, y1, z1)
        again = jnp.broadcast_to(info.lam[-1], following.lam.shape)
        following = eqx.tree_at(lambda stages: stages.lam, following, again)
        found = StepInfo(following, info.iterations, info.result)
        return y1, z1, lambda ratio: following, found

    return steps
