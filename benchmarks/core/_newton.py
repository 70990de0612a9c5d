"""Newton iterations a step, with extrapolated and with constant starting values."""

from collections.abc import Iterator

import jaxspark

from .._figures import Figure, note
from ..problems import andrews, heavy_top, kapitza, mixed, pendulum, sleigh_tow


def newton(tiny: bool) -> Iterator[Figure]:
    """Mean and maximum on six problems."""
    cases = [
        (pendulum(), 0.01), (andrews(), 1e-4), (heavy_top(), 2e-3), (sleigh_tow(), 0.02),
        (kapitza(), 1e-3), (mixed(), 0.02),
    ]  # fmt: skip
    for problem, h in cases[:1] if tiny else cases:
        words = []
        for predict in (True, False):
            solution = jaxspark.rollout(
                problem.system, problem.y0, problem.z0, problem.args, method=jaxspark.Gauss(3),
                h=h, num_steps=200, save_every=None, predict=predict,
            )  # fmt: skip
            mean = int(solution.stats.newton_iterations) / 200
            most = int(solution.stats.max_newton_iterations)
            words.append(f"{'extrapolated' if predict else 'constant'} {mean:.2f}, {most}")
        what = f"Newton iterations a step (mean, max), {problem.name}, Gauss(3), h = {h}"
        yield note(what, "; ".join(words))
