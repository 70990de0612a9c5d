"""Variable steps over ten thousand periods: reversible ones, and those of a PI controller."""

from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..problems import spherical_kepler
from ..problems._spherical_kepler import scale


PERIOD = 0.637749
METHOD = jaxspark.Gauss(2)


def reversible(tiny: bool) -> Iterator[Figure]:
    """An eccentric orbit on the sphere: energy errors early and late, and the way back."""
    problem = spherical_kepler()
    periods = 20 if tiny else 10_000
    start = float(_energies(problem, problem.y0[None], problem.z0[None], np.zeros(1))[0])

    steps = round(periods * 76.3)
    every = max(1, steps // 20_000)
    there = jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=METHOD,
        steps=jaxspark.StepDensity(scale, 0.1, steps), save_every=every,
    )  # fmt: skip
    errors = np.abs(_energies(problem, there.ys, there.zs, there.ts) - start)
    tenth = len(errors) // 10
    first, last = float(errors[:tenth].max()), float(errors[-tenth:].max())
    what = f"orbit on a sphere, {METHOD}, {float(there.t1) / PERIOD:.0f} periods, {steps} steps"
    yield note(
        f"{what} of reversible size: largest energy error in first tenth (J)", f"{first:.3e}"
    )
    yield at_most(f"{what} of reversible size: last over first tenth", last / first, 1.05, ".4f")

    back_steps = min(steps, 1000)
    short = jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=METHOD,
        steps=jaxspark.StepDensity(scale, 0.1, back_steps),
    )  # fmt: skip
    back = jaxspark.solve(
        problem.system, short.y1, short.z1, problem.args, method=METHOD, t0=short.t1,
        steps=jaxspark.StepDensity(scale, -0.1, back_steps, short.step_density),
    )  # fmt: skip
    yield at_most(
        f"the same, {back_steps} steps and back: distance from the start",
        float(np.max(np.abs(back.y1 - problem.y0))), 1e-11,
    )  # fmt: skip
    yield from _controlled(problem, periods, start, last)


def _controlled(problem, periods: int, start: float, bounded: float) -> Iterator[Figure]:
    """The standard controller, at a tolerance that takes about as many steps at first."""
    checkpoints = np.linspace(0, periods * PERIOD, 11)

    @jax.jit
    def run(t0, y, z, t1):
        return jaxspark.solve(
            problem.system, y, z, problem.args, method=METHOD, t0=t0, t1=t1, rtol=1e-5,
            max_steps=None,
            throw=False,
        )  # fmt: skip

    y, z, drifts, steps = problem.y0, problem.z0, [], 0
    for t0, t1 in zip(checkpoints[:-1], checkpoints[1:], strict=True):
        solution = run(t0, y, z, t1)
        y, z = solution.y1, solution.z1
        steps += int(solution.stats.num_steps)
        energies = _energies(problem, y[None], z[None], np.array([t1]))
        drifts.append(abs(float(energies[0]) - start))
    what = f"the same by the PI controller, rtol = 1e-5, {steps} steps"
    words = ", ".join(f"{drift:.2e}" for drift in drifts)
    yield note(f"{what}: energy error after each tenth (J)", words)
    yield at_least(
        f"{what}: its energy error at the end over that of the reversible steps",
        drifts[-1] / bounded, 10, ".1f",
    )  # fmt: skip


def _energies(problem, ys, zs, ts) -> np.ndarray:
    return np.asarray(jaxspark.diagnostics.energy(problem.system, ts, ys, zs, problem.args))
