"""The flexible slider crank: its whole span, and with steps of the crank's motion."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ..problems import digits, elastic_frequencies, Problem, slider_crank_flexible
from ._solvers import SLOW


DIGITS = 7
# Times the stiffness (s): one hundredth of critical for the lowest elastic mode.
DAMPING = 1.6e-5
LARGEST = 1.6e-3  # of the first bending mode (m)
# Of a revolution, at most: by stages and tolerance. The slowest elastic mode alone has nine
# periods in it, for each of which a method that resolves them needs ten steps or more.
STEPS = {(2, 1e-4): 20, (2, 1e-5): 40, (3, 1e-4): 12, (3, 1e-5): 20}


def slider_crank(tiny: bool) -> Iterator[Figure]:
    """Against the reference, following all oscillations; then with GGL, following the crank."""
    if not tiny:
        yield from _whole_span()
    for damping in (DAMPING,) if tiny else (0.0, DAMPING):
        yield from _with_the_crank(slider_crank_flexible(damping), tiny)


def _whole_span() -> Iterator[Figure]:
    """Digits at the worst checkpoint; published runs of index-3 codes end at the first step."""
    problem = slider_crank_flexible()
    assert problem.reference is not None
    checkpoints = problem.reference()["checkpoints"]
    method = jaxspark.Gauss(6)
    solution = _solve(
        problem, method, 1e-12, ts=np.array([row["t"] for row in checkpoints]), multipliers=True
    )
    assert solution.multipliers is not None
    found = {"y": solution.ys, "z": solution.zs, "lambda": solution.multipliers.lam}
    for name, values in found.items():
        worst = min(digits(a, row[name]) for a, row in zip(values, checkpoints, strict=True))
        what = f"slider crank, {method}, rtol 1e-12, {problem.t_end} s: digits of {name}"
        yield at_least(what, worst, DIGITS, ".1f")
    yield note(f"slider crank, {method}, rtol 1e-12: steps", str(int(solution.stats.num_steps)))


def _with_the_crank(problem: Problem, tiny: bool) -> Iterator[Figure]:
    """Steps of a revolution, errors at the end, and what an undamped method had to resolve."""
    revolutions = problem.t_end * problem.args["Om"] / (2 * np.pi)
    periods = elastic_frequencies(problem.args) / problem.args["Om"]
    words = f"slider crank, damping {problem.args['damping']:g} s"
    listed = ", ".join(f"{x:.0f}" for x in periods)
    yield note(f"{words}: periods of the elastic modes in a revolution", listed)
    exact = None if tiny else _solve(problem, jaxspark.Gauss(5), 1e-11).y1
    for stages in (2,) if tiny else (2, 3):
        for tolerance in (1e-4,) if tiny else (1e-4, 1e-5):
            method = jaxspark.GGL(jaxspark.RadauIIA(stages), error_norm=SLOW)
            solution = _solve(problem, method, tolerance)
            what = f"{words}, GGL Radau IIA({stages}), tolerance {tolerance:g}"
            steps = int(solution.stats.num_steps) / revolutions
            yield at_most(f"{what}: steps of a revolution", steps, STEPS[stages, tolerance], ".1f")
            rejected = int(solution.stats.num_rejected_steps)
            yield note(f"{what}: rejected steps", f"{rejected} in {revolutions:.1f} revolutions")
            if exact is not None:
                errors = np.abs(solution.y1 - exact)
                ratio = float(np.max(errors)) / tolerance
                figure = f"{what}: error at the end over tolerance"
                # Without damping the rod keeps oscillations, however small, that GGL damps.
                damped = problem.args["damping"] > 0
                yield at_most(figure, ratio, 2) if damped else note(figure, f"{ratio:.2e}")
                bending = f"{errors[3] / LARGEST:.1e}"
                yield note(f"{what}: error of the bending over its largest", bending)


def _solve(problem: Problem, method: Any, tolerance: float, **options: Any) -> jaxspark.Solution:
    return jaxspark.solve(
        problem.system, jnp.asarray(problem.y0), jnp.asarray(problem.z0), problem.args,
        method=method,
        t1=problem.t_end, rtol=tolerance, max_steps=None, **options,
    )  # fmt: skip
