"""How a step's stages are found: starting values, one after the other, and what rounding allows."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._custom_types import BoolScalar, IntScalar
from .._jax_internals import mix
from .._kkt import AbstractLinearSolver
from .._results import RESULTS
from .._tableau import SparkTableau
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._full import full_jacobian, FullJacobian
from ._newton import (
    allowing,
    floor_of,
    newton as iterate,
    NewtonOptions,
    NewtonResult,
    scales,
    Sizes,
    sizes_of,
)
from ._predict import constant_guess
from ._residual import stage_residual
from ._stages import Stages


# What a trip does: iterate from the guess, from constant values, from where it got stuck; or one
# iteration there, and on both sides of it.
GUESS, CONSTANT, ON, CENTRE, ABOVE, BELOW = range(6)
# So often rounding errors are measured in a step.
MEASUREMENTS = 2


class _State(eqx.Module):
    """What is known between two trips.

    - `trip`: the kind of the next one.
    - `done`: whether there is none.
    - `constant`: whether constant values were tried.
    - `newton`: how the last iteration ended; all iterations are counted.
    - `jacobian`: the last one.
    - `update`: by how much the next iteration would change where it got stuck.
    - `difference`: of the ends of iterations from both sides, and twice that from the centre.
    - `noise`, `measured`: rounding errors, as measured so often.
    """

    trip: IntScalar
    done: BoolScalar
    constant: BoolScalar
    newton: NewtonResult
    jacobian: Any
    update: Sizes
    difference: Stages
    noise: Sizes
    measured: IntScalar


def solve_stages(
    frozen: tuple[Any, ...],
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    guess: Stages,
    idle: BoolScalar,
    options: NewtonOptions,
) -> tuple[NewtonResult, ModifiedJacobian | FullJacobian]:
    """Newton from the guess; if that fails, once more from constant starting values.

    After a jolt (an inconsistent start, a switching force) extrapolated stages can be so far
    off that the iteration, or its Jacobian, is useless.

    Where small updates no longer shrink, it may be that rounding errors of the functions, which
    nobody knows, are amplified: by short levers, far from the origin. Then they are measured. Of
    the ends `e(x)` of a single iteration from equidistant points the second difference, `e(x + d)
    - 2 e(x) + e(x - d)`, has nothing but noise in it, of variance `6 sigma^2`, if `d` is so small
    that `e` is linear. If the update at `x` is no larger than a few `sigma`, `x` is as good as it
    gets; otherwise the iteration goes on, with rounding errors allowed for.

    All of that are further trips of a loop that otherwise makes one, and costs nothing then.

    ??? cite "Reference"
        J. J. Moré & S. M. Wild, *Estimating computational noise*, SIAM J. Sci. Comput. 33 (2011),
        section 3: `sigma_k^2 = (k!)^2 / (2k)! E[(Delta^k f)^2]`, with `k = 2`.
    """
    system, t0, y0, z0, h = frozen
    # Where velocities are unknowns, positions follow from them: no equations of their own.
    follow = system.v is None
    residual = stage_residual(system, tableau, t0, y0, z0, h, positions=not follow)
    constant = constant_guess(system, tableau, y0, z0)
    full = options.jacobian == "full"

    def completed(stages):
        if not follow:
            return stages
        Y = y0[None, :] + h * mix(tableau.alpha, stages.z[:-1])
        return Stages(Y, stages.z, stages.lam, stages.psi)

    def factorise(stages):
        if full:
            return full_jacobian(system, tableau, t0, y0, h, stages)
        return modified_jacobian(system, tableau, linear_solver, t0, h, stages)

    def renew(stages):
        return factorise(completed(stages))

    empty = jax.tree.map(jnp.zeros_like, jax.eval_shape(factorise, guess))

    def trip(state: _State) -> _State:
        start = completed(_start(state, guess, constant))
        jacobian = empty if full else factorise(start)
        mass = _mass(system, t0, y0, z0) if full else jacobian.mass
        units = scales(mass, h, y0, z0, start, state.noise, options)
        probe = state.trip >= CENTRE
        limit = jnp.where(probe, 1, options.max_iterations)
        watch = state.measured < MEASUREMENTS
        newton, jacobian = iterate(
            residual, jacobian, renew if full else None, start, units, idle, limit, watch, options
        )
        newton = eqx.tree_at(lambda n: n.stages, newton, completed(newton.stages))
        return _after(state, newton, jacobian, units, options)

    no, none = jnp.asarray(False), jnp.zeros((), jnp.int32)
    nothing = NewtonResult(guess, none, RESULTS.newton_diverged, no)
    zero = jnp.zeros((), y0.dtype)
    zeros = Sizes(zero, zero, zero, zero)
    begin = _State(none, no, no, nothing, empty, zeros, guess, zeros, none)
    end = jax.lax.while_loop(lambda state: ~state.done, trip, begin)
    return end.newton, end.jacobian


def _mass(system: Any, t0: Any, y0: Any, z0: Any) -> Any:
    """The largest entry of the mass matrix."""
    if system.p is None:
        return jnp.ones((), y0.dtype)
    return jnp.max(jnp.abs(jax.jacfwd(system.p, 2)(t0, y0, z0)), initial=0)


def _start(state: _State, guess: Stages, constant: Stages) -> Stages:
    """Where the next trip starts."""
    first, second = state.trip == GUESS, state.trip == CONSTANT
    side = jnp.where(state.trip == ABOVE, 1, 0) - jnp.where(state.trip == BELOW, 1, 0)
    update = state.update
    apart = Stages(
        _signs(guess.y) * update.y,
        _signs(guess.z) * jnp.maximum(update.z_stages, update.z_end),
        _signs(guess.lam) * update.impulse,
        _signs(guess.psi) * update.impulse,
    )

    def chosen(a, b, x, d):
        x = x + side.astype(x.dtype) * d
        return jnp.where(first, a, jnp.where(second, b, x))

    return jax.tree.map(chosen, guess, constant, state.newton.stages, apart)


def _signs(like: jax.Array) -> jax.Array:
    """As large as 1 at most, without a pattern, and always the same."""
    generator = np.random.default_rng(7)
    parts = generator.uniform(0.5, 1.0, like.shape) * generator.choice([-1.0, 1.0], like.shape)
    return jnp.asarray(parts, like.dtype)


def _after(
    state: _State, newton: NewtonResult, jacobian: Any, units: Sizes, options: NewtonOptions
) -> _State:
    """What a trip of any kind has changed."""
    centre, last = state.trip == CENTRE, state.trip == BELOW
    probe = state.trip >= CENTRE
    ends = newton.stages
    there = sizes_of(jax.tree.map(jnp.subtract, state.newton.stages, ends))
    update = jax.tree.map(lambda a, b: jnp.where(centre, a, b), there, state.update)
    difference = jax.tree.map(lambda e, d: jnp.where(centre, -2 * e, d + e), ends, state.difference)
    sigma = jax.tree.map(lambda x: x / 6**0.5, sizes_of(difference))
    noise = jax.tree.map(lambda a, b: jnp.where(last, jnp.maximum(a, b), b), sigma, state.noise)
    measured = state.measured + last.astype(jnp.int32)

    # Verdicts: of an iteration its own; of a measurement, whether the noise explains it.
    size, _ = allowing(noise, units, options).norms(update)
    explained = last & (size <= floor_of(options, ends.y.dtype))
    good = newton.result == RESULTS.successful
    found = jnp.where(probe, explained, good)
    constant = state.constant | (state.trip == CONSTANT)
    stuck = ~probe & newton.stuck & ~good & (measured < MEASUREMENTS)
    other = jnp.where(constant, ON, CONSTANT)
    next_trip = jnp.where(probe, jnp.where(last, ON, state.trip + 1), other)
    next_trip = jnp.where(stuck, CENTRE, next_trip).astype(jnp.int32)
    done = found | (~probe & ~stuck & constant)

    kept = jax.tree.map(lambda a, b: jnp.where(probe, a, b), state.newton, newton)
    result = RESULTS.where(explained, RESULTS.successful, kept.result)
    iterations = state.newton.iterations + newton.iterations
    kept = NewtonResult(kept.stages, iterations, result, kept.stuck)
    return _State(next_trip, done, constant, kept, jacobian, update, difference, noise, measured)
