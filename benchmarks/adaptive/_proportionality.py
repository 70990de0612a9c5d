"""The error at a given time against the tolerance."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from .._figures import at_most, Figure, near, note


# Problem, method, how long (s), and the steps of the reference by Gauss(5).
CASES = {
    "pendulum": (jaxspark.Gauss(3), 10.0, 4000),
    "andrews": (jaxspark.Gauss(3), 0.03, 4000),
    "caraxis": (jaxspark.Gauss(3), 3.0, 6000),
    "chaplygin_sleigh": (jaxspark.Gauss(2), 10.0, 4000),
    "rolling_disk": (jaxspark.Gauss(2), 10.0, 4000),
    "mixed": (jaxspark.Lobatto(4), 2.0, 2000),
}


def errors(name: str, method, duration: float, steps: int, tolerances) -> tuple[np.ndarray, float]:
    """End errors, relative to 1 plus the size, and the worst constraint residual of all runs."""
    problem = problems.PROBLEMS[name]()
    exact = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=jaxspark.Gauss(5),
        t0=problem.t0,
        t1=problem.t0 + duration, num_steps=steps, save_every=None,
    )  # fmt: skip

    @jax.jit
    def run(tolerance):
        return jaxspark.solve(
            problem.system, problem.y0, problem.z0, problem.args, method=method, t0=problem.t0,
            t1=problem.t0 + duration, rtol=tolerance, max_step=jnp.inf, max_steps=20_000,
            throw=False,
        )  # fmt: skip

    found, worst = [], 0.0
    for tolerance in tolerances:
        end = run(tolerance)
        if not bool(end.successful):
            raise RuntimeError(f"{name}: {end.result} at tolerance {tolerance}.")
        pairs = ((end.y1, exact.y1), (end.z1, exact.z1))
        found.append(max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in pairs))
        worst = max(worst, *(float(getattr(end.stats, x)) for x in ("max_g", "max_gdot", "max_k")))
    return np.array(found), worst


def proportionality(tiny: bool) -> Iterator[Figure]:
    """Slopes of `log error` over `log rtol`, 1e-4 to 1e-9; the estimate alone chooses steps."""
    tolerances = 10.0 ** -np.arange(4, 6 if tiny else 10)
    for name, (method, duration, steps) in list(CASES.items())[: 1 if tiny else None]:
        found, worst = errors(name, method, duration, steps, tolerances)
        slope = np.polyfit(np.log(tolerances), np.log(found), 1)[0]
        what = f"{name}, {method}, rtol = 1e-4 .. {tolerances[-1]:.0e}"
        yield near(f"{what}: slope of the error over rtol", float(slope), 1.0, 0.2)
        ratios = found / tolerances
        yield note(f"{what}: error over rtol", f"{ratios.min():.2g} .. {ratios.max():.2g}")
        yield at_most(f"{what}: worst constraint residual", worst, 1e-12)
        jax.clear_caches()
