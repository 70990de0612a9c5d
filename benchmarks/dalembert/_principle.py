"""The discrete Lagrange-d'Alembert principle along computed trajectories."""

from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure
from ..problems import nonholonomic_particle, Problem, skate_incline
from ._families import FAMILIES, lobatto


def largest_residual(problem: Problem, method, steps: int) -> float:
    """Of the discrete Euler-Lagrange equations (4.5), over `steps` steps of 0.1 s."""
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=method, h=0.1, num_steps=steps
    )
    found = jaxspark.diagnostics.discrete_euler_lagrange(
        problem.system, method, solution.ts, solution.ys, problem.args
    )
    if not bool(np.all(found.actions.converged)):
        raise RuntimeError(f"{problem.name}, {method}: the stages of a step were not found.")
    return float(max(np.max(np.abs(found.residual)), np.max(np.abs(found.constraint))))


def principle(tiny: bool) -> Iterator[Figure]:
    """Satisfied by the families with (6.2), not by the others."""
    problems = [nonholonomic_particle(), skate_incline()]
    satisfying = [jaxspark.Gauss(s) for s in (1, 2, 3)]
    satisfying += [lobatto(family, 3) for family in FAMILIES]
    satisfying += [lobatto("A-B-B", 2), lobatto("A-B-B", 4)]
    others = [jaxspark.RadauIIA(2), jaxspark.RadauIIA(3)]
    others += [jaxspark.Lobatto(3, y="C", f="C", psi="C")]
    steps = 5 if tiny else 100
    what = f"residual of (4.5), {steps} steps of 0.1 s"
    for method in satisfying[:1] if tiny else satisfying:
        worst = max(largest_residual(problem, method, steps) for problem in problems)
        yield at_most(f"{what}, worst of two problems, {method}", worst, 1e-11)
        jax.clear_caches()
    # Under the constant force of the skate every method satisfies them.
    for method in others[:1] if tiny else others:
        residual = largest_residual(problems[0], method, steps)
        yield at_least(f"{what}, {problems[0].name}, {method}", residual, 1e-9, ".2e")
        jax.clear_caches()
