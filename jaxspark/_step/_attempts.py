"""How a step's stages are found: starting values, one after the other, and what rounding allows."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp

from .._custom_types import BoolScalar
from .._implicit import lazily
from .._jax_internals import mix
from .._kkt import AbstractLinearSolver
from .._results import RESULTS
from .._tableau import SparkTableau
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._full import full_jacobian, FullJacobian
from ._newton import newton as iterate, NewtonOptions, NewtonResult, scales, Sizes
from ._predict import constant_guess
from ._residual import stage_residual
from ._search import begun, ended, flags, MEASUREMENTS, prepared
from ._stages import Stages


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
        mass = system.mass(t0, y0, z0)
        return jnp.ones((), y0.dtype) if mass is None else jnp.max(jnp.abs(mass), initial=0)

    def units(jacobian, stages, noise):
        return scales(mass_of(jacobian), h, y0, z0, stages, noise, options)

    def trip(carry):
        count, _, newton, search, jacobian = carry

        def prepare(search):
            size = functools.partial(units, jacobian, noise=none)
            return prepared(search, size, constant, options)

        # Before the first trip nothing is to be prepared.
        again = count > 0
        search = lazily(again, prepare, search, search)
        known = flags(search.flags)
        start = unravel(search.values[0, :-4])
        start = completed(jax.tree.map(lambda a, b: jnp.where(again, a, b), start, guess))
        if not full:
            jacobian = factorise(start)
        limit = jnp.where(known.probe, 1, options.max_iterations)
        watch = ~known.probe & (known.measured < MEASUREMENTS)
        found, jacobian = iterate(
            residual, jacobian, renew if full else None, start,
            units(jacobian, start, search.noise()), idle | known.explained, limit, watch, options,
        )  # fmt: skip
        stuck = found.stuck & watch
        good = found.result == RESULTS.successful
        done = ~known.probe & (good | (known.constant & ~stuck))
        ends, iterations = completed(found.stages), newton.iterations + found.iterations
        newton = NewtonResult(ends, iterations, found.result, stuck)
        search = ended(search, ends, eqx.tree_at(lambda known: known.stuck, known, stuck))
        return count + 1, done, newton, search, jacobian

    zero, no, none = jnp.zeros((), jnp.int32), jnp.asarray(False), jnp.zeros((), y0.dtype)
    none = Sizes(none, none, none, none)
    unravel = jax.flatten_util.ravel_pytree(guess)[1]
    nothing = NewtonResult(guess, zero, RESULTS.newton_diverged, no)
    begin = (zero, no, nothing, begun(guess), empty)
    _, _, newton, _, jacobian = jax.lax.while_loop(lambda carry: ~carry[1], trip, begin)
    return newton, jacobian
