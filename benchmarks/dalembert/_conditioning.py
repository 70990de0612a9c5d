"""The condition of the stage equations over step sizes and numbers of stages."""

from collections.abc import Iterator

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark._step import constant_guess, stage_residual, Stages
from jaxspark._system import flatten

from .._figures import at_most, Figure, near
from ..problems import mixed, nonholonomic_particle, Problem
from ._families import FAMILIES, lobatto


STEP_SIZES = np.append(np.logspace(-3, 0, 60, endpoint=False), 1.0)


def conditions(problem: Problem, method, step_sizes: np.ndarray) -> np.ndarray:
    """Condition numbers of the Jacobian of the stage equations, one for each step size.

    The Jacobian is the exact one at the initial state with its multipliers; its columns are
    those of coordinates, velocities and impulses (multipliers times h), and rows and columns
    are scaled to maximum 1.
    """
    y, z = jnp.asarray(problem.y0), jnp.asarray(problem.z0)
    reported = jaxspark.multipliers(problem.system, 0.0, y, z, problem.args)
    system, y, z = flatten(problem.system, jnp.asarray(0.0), y, z, problem.args)
    tableau = method.tableau
    lam = jnp.tile(jnp.ravel(reported.lam)[None, :], (tableau.constraint_nodes, 1))
    psi = jnp.tile(jnp.ravel(reported.psi)[None, :], (tableau.stages, 1))
    guess = constant_guess(system, tableau, y, z)

    def jacobian(h):
        start = Stages(guess.y, guess.z, h * lam, h * psi)
        flat, unravel = jax.flatten_util.ravel_pytree(start)

        def residual(x):
            x = unravel(x)
            x = Stages(x.y, x.z, x.lam / h, x.psi / h)
            value = stage_residual(system, tableau, jnp.asarray(0.0), y, z, h)(x)
            return jax.flatten_util.ravel_pytree(value)[0]

        return jax.jacfwd(residual)(flat)

    matrices = np.asarray(jax.jit(jax.vmap(jacobian))(jnp.asarray(step_sizes)))
    matrices = matrices / np.max(np.abs(matrices), 2, keepdims=True)
    matrices = matrices / np.max(np.abs(matrices), 1, keepdims=True)
    return np.linalg.cond(matrices)


def conditioning(tiny: bool) -> Iterator[Figure]:
    """The worst and the typical condition: a singularity would be a peak between them."""
    problems = [mixed(), nonholonomic_particle()]
    sizes = STEP_SIZES[::20] if tiny else STEP_SIZES
    for family in ["A-B-B"] if tiny else FAMILIES:
        # With C-C* and two stages there is a singularity, where it must be: see below.
        first = 3 if family == "C-C*-C" else 2
        for problem in problems:
            worst, peak = 0.0, 0.0
            for s in (first,) if tiny else range(first, 9):
                found = conditions(problem, lobatto(family, s), sizes)
                worst = max(worst, found.max())
                peak = max(peak, found.max() / np.median(found))
            what = f"stage equations, {problem.name}, Lobatto {family}, s = {first}..8"
            what += ", h = 1e-3..1:"
            yield at_most(f"{what} worst condition number", worst, 100, ".1f")
            yield at_most(f"{what} worst over median of an h sweep", peak, 5, ".2f")
            jax.clear_caches()
    yield from resonance()


def resonance() -> Iterator[Figure]:
    """C-C*-C with two stages is singular at `omega h = sqrt(2)`: measured and predicted.

    The particle's frequency is `sqrt(2)` rad/s: that is `h = 1`.
    """
    method = lobatto("C-C*-C", 2)
    sizes = np.linspace(0.5, 1.5, 101)
    found = conditions(nonholonomic_particle(), method, sizes)
    (predicted,) = method.tableau.resonances
    measured = np.sqrt(2) * sizes[np.argmax(found)]
    what = "stage equations, nonholonomic_particle, Lobatto C-C*-C, s = 2: omega h of the"
    yield near(f"{what} worst condition, where predicted", measured, predicted, 0.01)
