"""Energy over long times: where theory bounds its error, and where it does not.

The six systems conserve energy: constraints are linear in the velocity and nothing depends
on time. But a nonholonomic system is not symplectic. What bounds the error of a symmetric
method is reversibility together with integrability (reversible KAM theory): K. Modin & O.
Verdier, *What makes nonholonomic integrators work?*, Numer. Math. 145 (2020).
"""

import pathlib
from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..problems import (
    chaplygin_sleigh,
    contact_oscillator,
    magnetic_particle,
    nonholonomic_particle,
    Problem,
    rolling_disk,
    skate_incline,
)
from ._families import lobatto


REVERSIBLE = {
    nonholonomic_particle: 0.1, skate_incline: 0.05, chaplygin_sleigh: 0.1, rolling_disk: 0.1,
}  # fmt: skip
"""Reversible and integrable problems, with step sizes (s): symmetric methods are bounded."""

OTHERS = {contact_oscillator: 0.1, magnetic_particle: 0.1}
"""Chaotic; not reversible: nothing is promised."""

ROUNDING = 1e-10
"""Errors (J) below this are rounding errors, which add up: a bias of 0.1 eps a step."""


def energy_errors(problem: Problem, method, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """A thousand times, and the energy there minus that of the start (J)."""
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=method,
        h=h, num_steps=steps, save_every=max(1, steps // 1000),
    )  # fmt: skip
    lagrangian = isinstance(problem.system, jaxspark.LagrangianSystem)
    energies = jaxspark.diagnostics.energy(
        problem.system, solution.ts, solution.ys, solution.zs, problem.args,
        potential=None if lagrangian else lambda t, y, args: 0.0,  # the sleigh's plane is level
    )  # fmt: skip
    return np.asarray(solution.ts), np.asarray(energies - energies[0])


def energy(tiny: bool, plots: pathlib.Path | None = None) -> Iterator[Figure]:
    """Largest errors in the first and the last tenth of 1e5 steps; pictures on request."""
    steps = 200 if tiny else 100_000
    methods = [jaxspark.Gauss(2), lobatto("A-B-B", 3), jaxspark.RadauIIA(2)]
    curves: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    cases = [*REVERSIBLE.items(), *OTHERS.items()]
    for build, h in cases[:1] if tiny else cases:
        problem = build()
        bounded = build in REVERSIBLE
        for method in methods[:1] if tiny else methods:
            t, error = energy_errors(problem, method, h, steps)
            curves.setdefault(problem.name, {})[str(method)] = t, error
            tenth = len(error) // 10
            first, last = (np.max(np.abs(e)) for e in (error[: tenth + 1], error[-tenth:]))
            what = f"energy over {steps} steps, {problem.name}, {method}, h = {h}:"
            yield note(f"{what} largest error in first, last tenth (J)", f"{first:.2e}, {last:.2e}")
            if bounded and last <= ROUNDING:
                yield at_most(f"{what} largest error, of rounding", last, ROUNDING)
            elif bounded and method.tableau.symmetric:
                growth = last / first
                yield at_most(f"{what} growth of the error, bounded by theory", growth, 2.0, ".2f")
            elif build is chaplygin_sleigh:
                yield note(
                    f"{what} growth of the error, it runs straight soon", f"{last / first:.2f}"
                )
            elif not method.tableau.symmetric:
                yield at_least(f"{what} growth of the error, it drifts", last / first, 3.0)
            else:
                yield note(f"{what} growth of the error, no theory", f"{last / first:.2f}")
        jax.clear_caches()
    if plots is not None:
        path = plots / "energy.png"
        draw(curves, path)
        yield note("energy over long times: picture", str(path))


def draw(curves, path: pathlib.Path) -> None:
    """One panel for each problem, one line for each method."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6), layout="constrained")
    promised = [build().name for build in REVERSIBLE]
    for axis, (name, lines) in zip(axes.flat, curves.items(), strict=True):
        for method, (t, error) in lines.items():
            size = np.maximum.accumulate(np.abs(error[1:]))
            axis.loglog(t[1:], np.maximum(size, 1e-16), label=method)
        rounding = max(np.max(np.abs(e)) for _, e in list(lines.values())[:2]) <= ROUNDING
        words = "nothing promised" if name not in promised else "bounded"
        words += ", but for rounding" if rounding else ""
        axis.set(title=f"{name}: {words}", xlabel="time (s)", ylabel="largest error so far (J)")
    axes[0, 0].legend(fontsize="small")
    figure.suptitle("Energy error of nonholonomic systems over 100 000 steps")
    figure.savefig(path, dpi=120)
    plt.close(figure)
