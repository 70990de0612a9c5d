"""How a step's stages are found: starting values, one after the other, and what rounding allows."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, IntScalar
from .._implicit import signs
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


class _Search(eqx.Module):
    """What is known between two trips.

    - `trip`: the kind of the last one; before the first, of that.
    - `newton`: how its iteration ended; all iterations are counted.
    - `constant`: whether constant values were tried.
    - `explained`: whether rounding errors explain the updates.
    - `base`: where the iteration got stuck, and the difference of the ends of iterations from both
        sides and twice that from there; vectors.
    - `sizes`: by how much another iteration changes the base, and rounding errors.
    - `measured`: how often these were.
    """

    trip: IntScalar
    newton: NewtonResult
    constant: BoolScalar
    explained: BoolScalar
    base: Float[Array, "2 n"]
    sizes: Float[Array, "2 4"]
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

    def mass_of(jacobian):
        if isinstance(jacobian, ModifiedJacobian):
            return jacobian.mass
        if system.p is None:
            return jnp.ones((), y0.dtype)
        return jnp.max(jnp.abs(jax.jacfwd(system.p, 2)(t0, y0, z0)), initial=0)

    none = _unpacked(jnp.zeros(4, y0.dtype))

    def trip(carry):
        count, _, search, jacobian = carry

        def prepare(carry):
            _, search = carry
            units = scales(mass_of(jacobian), h, y0, z0, search.newton.stages, none, options)
            return jnp.asarray(False), _prepared(search, units, constant, completed, options)

        # Before the first trip nothing is to be prepared.
        due = (count > 0, search)
        search = jax.lax.while_loop(lambda carry: carry[0], prepare, due)[1]
        start = completed(search.newton.stages)
        if not full:
            jacobian = factorise(start)
        noise = _unpacked(search.sizes[1])
        units = scales(mass_of(jacobian), h, y0, z0, start, noise, options)
        probe = search.trip >= CENTRE
        limit = jnp.where(probe, 1, options.max_iterations)
        watch = ~probe & (search.measured < MEASUREMENTS)
        found, jacobian = iterate(
            residual, jacobian, renew if full else None, start, units,
            idle | search.explained, limit, watch, options,
        )  # fmt: skip
        good = found.result == RESULTS.successful
        stuck = found.stuck & watch
        done = ~probe & (good | (search.constant & ~stuck))
        iterations = search.newton.iterations + found.iterations
        newton = NewtonResult(completed(found.stages), iterations, found.result, stuck)
        search = eqx.tree_at(lambda search: search.newton, search, newton)
        return count + 1, done, search, jacobian

    no, zero = jnp.asarray(False), jnp.zeros((), jnp.int32)
    nothing = NewtonResult(guess, zero, RESULTS.newton_diverged, no)
    room = jnp.zeros((2, sum(x.size for x in jax.tree.leaves(guess))), y0.dtype)
    numbers = jnp.zeros((2, 4), y0.dtype)
    begin = _Search(zero, nothing, no, no, room, numbers, zero)
    end = jax.lax.while_loop(lambda carry: ~carry[1], trip, (zero, no, begin, empty))
    return end[2].newton, end[3]


def _unpacked(sizes: Float[Array, " 4"]) -> Sizes:
    return Sizes(sizes[0], sizes[1], sizes[2], sizes[3])


def _prepared(
    search: _Search,
    units: Sizes,
    constant: Stages,
    completed: Callable[[Stages], Stages],
    options: NewtonOptions,
) -> _Search:
    """What the last trip has shown, and the kind and, in `newton`, the start of the next."""
    last = search.trip
    ends, unravel = jax.flatten_util.ravel_pytree(search.newton.stages)
    probe, centre, measured = last >= CENTRE, last == CENTRE, last == BELOW

    def packed(x):
        return jnp.stack(jax.tree.leaves(sizes_of(unravel(x))))

    base = jnp.where(probe, search.base[0], ends)
    difference = jnp.where(centre, -2 * ends, search.base[1] + ends)
    update = jnp.where(centre, packed(base - ends), search.sizes[0])
    sigma = packed(difference) / 6**0.5
    noise = jnp.where(measured, jnp.maximum(sigma, search.sizes[1]), search.sizes[1])
    size, _ = allowing(_unpacked(noise), units, options).norms(_unpacked(update))
    explained = measured & (size <= floor_of(options, ends.dtype))

    trip = jnp.where(search.newton.stuck, CENTRE, CONSTANT)
    trip = jnp.where(probe, jnp.where(measured, ON, last + 1), trip).astype(jnp.int32)
    side = jnp.where(trip == ABOVE, 1.0, 0.0) - jnp.where(trip == BELOW, 1.0, 0.0)
    d, at = _unpacked(side.astype(ends.dtype) * update), unravel(base)
    in_z = jnp.where(jnp.abs(d.z_end) > jnp.abs(d.z_stages), d.z_end, d.z_stages)
    moved = Stages(
        at.y + d.y * signs(at.y),
        at.z + in_z * signs(at.z),
        at.lam + d.impulse * signs(at.lam),
        at.psi + d.impulse * signs(at.psi),
    )
    start = jax.tree.map(lambda a, b: jnp.where(trip == CONSTANT, a, b), constant, moved)
    newton = eqx.tree_at(lambda newton: newton.stages, search.newton, completed(start))
    return _Search(
        trip, newton, search.constant | (trip == CONSTANT), explained,
        jnp.stack([base, difference]), jnp.stack([update, noise]),
        search.measured + measured.astype(jnp.int32),
    )  # fmt: skip
