"""Many random starts of closed loops at every tolerance: nothing fails in silence."""

from collections import Counter
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note
from ..problems import four_bar, Problem, spatial_four_bar


def random_starts(problem: Problem, count: int) -> tuple[jax.Array, jax.Array]:
    """Consistent states: random ones (m, m/s), projected; those that cannot be are drawn again."""
    generator = np.random.default_rng(5)
    number = 4 * count
    y = problem.y0 + generator.normal(0, 0.3, (number, problem.y0.size))
    z = generator.normal(0, 3.0, (number, problem.z0.size))

    @jax.jit
    @jax.vmap
    def consistent(y, z):
        return jaxspark.project(problem.system, 0.0, y, z, problem.args, throw=False)

    found = consistent(jnp.asarray(y), jnp.asarray(z))
    good = np.asarray(found.result == jaxspark.RESULTS.successful)
    if good.sum() < count:
        raise RuntimeError(f"{problem.name}: only {good.sum()} of {number} states projected.")
    return found.y[good][:count], found.z[good][:count]


def robustness(tiny: bool) -> Iterator[Figure]:
    """Four-bar mechanisms, `Gauss(3)`, 3 s; 500 starts at each of eight tolerances."""
    count = 4 if tiny else 500
    tolerances = 10.0 ** -np.arange(3, 4 if tiny else 11)
    for problem in (four_bar(), spatial_four_bar()):
        y, z = random_starts(problem, count)

        @jax.jit
        def run(y, z, tolerance, problem=problem):
            def one(y, z):
                solution = jaxspark.solve(
                    problem.system, y, z, problem.args, method=jaxspark.Gauss(3), t1=problem.t_end,
                    rtol=tolerance, max_steps=None, throw=False,
                )  # fmt: skip
                energy = jaxspark.diagnostics.energy(
                    problem.system, solution.ts, solution.ys, solution.zs, problem.args
                )
                drift = jnp.abs(energy[1] - energy[0]) / (1 + jnp.abs(energy[0]))
                return solution, drift

            return jax.vmap(one)(y, z)

        codes, not_finite, inconsistent, wrong, drifts = Counter(), 0, 0, 0, []
        for tolerance in tolerances:
            solution, drift = run(y, z, tolerance)
            good = np.asarray(solution.successful)
            values = np.concatenate([solution.y1, solution.z1], 1)
            not_finite += int(np.sum(~np.isfinite(values).all(1)))
            kept = np.maximum(solution.stats.max_g, solution.stats.max_gdot)
            inconsistent += int(np.sum(~(np.asarray(kept) <= 1e-10)))
            reached = np.asarray(solution.t1) == problem.t_end
            wrong += int(np.sum(good & ~(reached & (np.asarray(drift) <= 1e3 * tolerance))))
            drifts.append(float(np.median(np.asarray(drift)[good]) / tolerance))
            for code in np.asarray(solution.result._value)[~good]:
                codes[int(code)] += 1
        what = f"{problem.name}, {count} random starts, rtol = 1e-3 .. {tolerances[-1]:.0e}"
        yield at_most(f"{what}: ends that are not finite", not_finite, 0, "d")
        yield at_most(f"{what}: runs with constraint residuals above 1e-10", inconsistent, 0, "d")
        yield at_most(
            f"{what}: called successful, but ended early or with an energy error of more than "
            "1000 rtol", wrong, 0, "d",
        )  # fmt: skip
        total = count * len(tolerances)
        yield note(f"{what}: failure codes", _words(codes, total))
        spread = f"{min(drifts):.2g} .. {max(drifts):.2g}"
        yield note(f"{what}: median energy error over rtol", spread)
        jax.clear_caches()


def _words(codes: Counter, total: int) -> str:
    if not codes:
        return f"none of {total}"
    names = {
        getattr(jaxspark.RESULTS, name)._value.item(): name
        for name in dir(jaxspark.RESULTS) if not name.startswith("_")
        and hasattr(getattr(jaxspark.RESULTS, name), "_value")
    }  # fmt: skip
    return ", ".join(f"{names[code]} {count}" for code, count in codes.items()) + f" of {total}"
