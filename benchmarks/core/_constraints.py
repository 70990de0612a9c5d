"""Constraints over 1e5 steps, energy over 1e6."""

from collections.abc import Iterator

import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ..problems import mixed, nonholonomic_particle, pendulum, planar_chain


def constraints(tiny: bool) -> Iterator[Figure]:
    """The worst residual after any step, in units of the constraints' own size."""
    steps = 100 if tiny else 100_000
    cases = [
        (pendulum(), jaxspark.Gauss(2), 0.01),
        (planar_chain(3), jaxspark.Gauss(3), 0.005),
        (nonholonomic_particle(), jaxspark.Gauss(2), 0.01),
        (mixed(), jaxspark.Gauss(2), 0.01),
        (mixed(), jaxspark.RadauIIA(2), 0.01),
    ]
    for problem, method, h in cases[:1] if tiny else cases:
        solution = jaxspark.rollout(
            problem.system, problem.y0, problem.z0, problem.args, method=method,
            h=h, num_steps=steps, save_every=max(1, steps // 1000),
        )  # fmt: skip
        size_y = 1 + np.max(np.abs(solution.ys))
        size_z = 1 + np.max(np.abs(solution.zs))
        stats = solution.stats
        what = f"{problem.name}, {method}, {steps} steps: max"
        yield at_most(f"{what} |g| / (1 + |y|)", float(stats.max_g) / size_y, 1e-13)
        yield at_most(f"{what} |gdot| / (1 + |z|)", float(stats.max_gdot) / size_z, 1e-13)
        yield at_most(f"{what} |k| / (1 + |z|)", float(stats.max_k) / size_z, 1e-13)


def energy(tiny: bool) -> Iterator[Figure]:
    """The energy error of the Cartesian pendulum, relative to `m g l`, over 1e6 steps."""
    steps = 1000 if tiny else 1_000_000
    problem = pendulum()
    for method, h in ((jaxspark.Gauss(2), 0.01), (jaxspark.Gauss(3), 0.02)):
        solution = jaxspark.rollout(
            problem.system, problem.y0, problem.z0, problem.args, method=method,
            h=h, num_steps=steps, save_every=steps // 1000,
        )  # fmt: skip
        y, z = np.asarray(solution.ys), np.asarray(solution.zs)
        error = np.abs(0.5 * np.sum(z**2, 1) + 9.81 * y[:, 1]) / 9.81
        first, last = np.max(error[: len(error) // 10]), np.max(error[-len(error) // 10 :])
        drift = np.polyfit(np.arange(len(error)) * (steps // 1000), error, 1)[0]
        what = f"pendulum energy, {method}, h = {h}, {steps} steps:"
        yield note(f"{what} largest in the first and the last tenth", f"{first:.2e}, {last:.2e}")
        yield at_most(f"{what} drift a step, in machine epsilons", drift / 2.2e-16, 1.0, ".3f")
        yield at_most(f"{what} largest", np.max(error), 1e-8)
