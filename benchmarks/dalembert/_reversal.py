"""Time reversal: a step forward, and back."""

import functools
from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure
from ..problems import mixed, nonholonomic_particle, planar_chain, Problem
from ._families import lobatto, SYMMETRIC


H = 0.1


def return_error(problem: Problem, method, h: float = H) -> float:
    """How far from its start a step and its reverse end, relative to the state's size."""

    # Rounding errors are those of optimised code, whatever the flags.
    @functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 3})
    def there_and_back(y, z):
        step = jaxspark.step
        y1, z1, _, first = step(problem.system, method, 0.0, y, z, h, None, problem.args)
        y2, z2, _, second = step(problem.system, method, h, y1, z1, -h, None, problem.args)
        good = jaxspark.RESULTS.successful
        return y2, z2, (first.result == good) & (second.result == good)

    y, z, good = there_and_back(problem.y0, problem.z0)
    if not bool(good):
        raise RuntimeError(f"{problem.name}, {method}: a step failed.")
    size = 1 + max(np.max(np.abs(problem.y0)), np.max(np.abs(problem.z0)))
    return float(max(np.max(np.abs(y - problem.y0)), np.max(np.abs(z - problem.z0))) / size)


def reversal(tiny: bool) -> Iterator[Figure]:
    """Symmetric families return to rounding error, the others do not."""
    problems = [mixed(), nonholonomic_particle(), planar_chain(2)]
    symmetric = [jaxspark.Gauss(s) for s in (1, 2, 3)]
    symmetric += [lobatto(family, s) for family in SYMMETRIC for s in (2, 3, 4, 5)]
    others = [jaxspark.RadauIIA(2), jaxspark.RadauIIA(3)]
    others += [jaxspark.Lobatto(s, y="C", f="C", psi="C") for s in (2, 3)]
    what = f"a step of {H} s and back"
    for method in symmetric[:1] if tiny else symmetric:
        worst = max(return_error(problem, method) for problem in problems)
        yield at_most(f"{what}, worst of three problems, {method}", worst, 1e-14)
    for method in others[:1] if tiny else others:
        # The chain's force is constant: there Radau's coefficients do not matter.
        least = min(return_error(problem, method) for problem in problems[:2])
        yield at_least(f"{what}, least of two problems, {method}", least, 1e-9, ".2e")
    jax.clear_caches()
