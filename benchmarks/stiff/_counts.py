"""What an integration with `jaxspark.stiff.bdf` cost, in the columns of published tables."""

import warnings
from typing import Any, NamedTuple

import jax.numpy as jnp

import jaxspark
from jaxspark._bdf import run, Settings

from ..problems import Problem


class Counts(NamedTuple):
    """Steps, residual and matrix evaluations, failed error tests, failures of Newton's method."""

    steps: int
    residuals: int
    matrices: int
    etf: int
    ctf: int

    def __str__(self) -> str:
        return "/".join(str(count) for count in self)


def counts(solution: jaxspark.stiff.BDFSolution) -> Counts:
    """Those of a solution."""
    stats = solution.stats
    return Counts(
        int(stats.num_steps), int(stats.residual_evaluations), int(stats.matrix_evaluations),
        int(stats.error_test_failures), int(stats.convergence_failures),
    )  # fmt: skip


def integrated(
    problem: Problem, rtol: float, formulation: Any, max_steps: int = 4000, **options: Any
) -> tuple[Counts, jaxspark.stiff.BDFSolution]:
    """The counts, and the solution, whether or not it reached the end."""
    options = {"t1": problem.t_end, **options}
    with warnings.catch_warnings():
        # Of what "cm_frozen" converges to: that is what is shown here.
        warnings.simplefilter("ignore", UserWarning)
        solution = jaxspark.stiff.bdf(
            problem.system, problem.y0, problem.z0, problem.args, rtol=rtol,
            formulation=formulation, max_steps=max_steps, throw=False, **options,
        )  # fmt: skip
    return counts(solution), solution


def without_force_gradient(problem: Problem, rtol: float, formulation: Any, t1: float) -> Counts:
    """The counts with iteration matrices that lack the derivative of the forces by coordinates."""
    norm = "positions and velocities"
    settings = Settings(formulation, 2, norm, "bordered", 6000, 1e-8, force_gradient=False)
    y0, z0 = jnp.asarray(problem.y0), jnp.asarray(problem.z0)
    args = {key: jnp.asarray(value) for key, value in problem.args.items()}
    times = jnp.asarray(0.0), jnp.asarray(t1)
    tolerances = jnp.asarray(rtol), jnp.asarray(rtol)
    return counts(run(problem.system, settings, y0, z0, args, times, tolerances))
