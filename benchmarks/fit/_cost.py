"""What an iteration costs, next to others; and a whole fit from a cold start."""

import json
import subprocess
import sys
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.fit._compile import compiled
from jaxspark.fit._log_density import loss
from jaxspark.fit._predict import predict
from jaxspark.fit._problem import make_problem
from jaxspark.fit._sensitivities import simulated

from .._figures import at_most, Figure, note
from ..large._splu import least_seconds
from ._fourbar import four_bar
from ._models import model_of
from ._rival_costs import costs
from ._rivals import point, reference


# A fit in a process of its own: imports, compilation and iterations are its only work.
COLD = """
import json, time
import jax
jax.config.update("jax_enable_x64", True)
import jaxspark
from jaxspark import fit
from benchmarks.fit import four_bar
from benchmarks.fit._models import model_of
problem = four_bar()
model, records = model_of(problem, method=jaxspark.Gauss(2)), problem.data(0)
begun, cpu = time.perf_counter(), time.process_time()
first = fit.estimate(model, records, progress=False)
wall, used = time.perf_counter() - begun, time.process_time() - cpu
begun = time.perf_counter()
again = fit.estimate(model, records, progress=False)
warm = time.perf_counter() - begun
print(json.dumps([wall, used, warm, first.converged]))
"""


def cost(tiny: bool) -> Iterator[Figure]:
    """The four-bar linkage: eight parameters, three trials with unknown starts."""
    yield from _whole(tiny)
    problem = four_bar()
    ours = _ours(problem)
    yield from ours.figures(problem)
    if tiny:
        return
    truth = reference(problem, point(problem))
    for rival in costs(problem, truth):
        words = f"{rival.residuals_ms:.3g}, {rival.iteration_ms:.3g}, {rival.gradient_ms:.3g}"
        errors = f"{rival.error:.1e}, {rival.jacobian_error:.1e}"
        what = f"{problem.name}, {rival.name} at {rival.setting}"
        yield note(
            f"{what}: CPU ms of residuals, iteration, gradient; errors", f"{words}; {errors}"
        )
        yield note(
            f"{what}: CPU time of an iteration over ours", f"{rival.iteration_ms / ours.ms:.2f}"
        )


def _whole(tiny: bool) -> Iterator[Figure]:
    if tiny:
        return
    done = subprocess.run(
        [sys.executable, "-c", COLD], capture_output=True, text=True, check=True
    )  # fmt: skip
    wall, used, warm, converged = json.loads(done.stdout.splitlines()[-1])
    what = "four-bar, a whole fit from a cold start"
    yield Figure(f"{what}: converged", "True", str(converged), bool(converged))
    yield at_most(f"{what}: wall seconds", wall, 20, ".1f")
    yield at_most(f"{what}: of which compilation", wall - warm, 10, ".1f")
    yield note(f"{what}: CPU seconds; wall seconds of the same again", f"{used:.1f}; {warm:.1f}")


class _Ours:
    """CPU milliseconds of our own functions."""

    def __init__(self, problem, method):
        made = make_problem(model_of(problem, method=method), problem.data(0))
        u, sigma = made.start, jnp.asarray(list(problem.sigmas().values()))
        value = compiled(lambda u: loss(made, u, sigma))
        both = compiled(jax.value_and_grad(lambda u: loss(made, u, sigma)))
        calls = {
            "residuals": lambda: jax.block_until_ready(predict(made, u).values),
            "iteration": lambda: jax.block_until_ready(simulated(made, u).jacobian),
            "value": lambda: jax.block_until_ready(value(u)),
            "gradient": lambda: jax.block_until_ready(both(u)),
        }
        for call in calls.values():
            call()
        self.costs = {name: 1e3 * least_seconds(call, 3) for name, call in calls.items()}
        self.differences = 2 * u.size * self.costs["residuals"]
        self.made, self.u = made, u

    @property
    def ms(self) -> float:
        return self.costs["iteration"]

    def figures(self, problem) -> Iterator[Figure]:
        what = f"{problem.name}, ours"
        words = ", ".join(f"{name} {ms:.3g}" for name, ms in self.costs.items())
        yield note(f"{what}: CPU ms of residuals, of a Gauss-Newton iteration, of the loss", words)
        ratio = self.costs["gradient"] / self.costs["value"]
        yield at_most(f"{what}: CPU time of value and gradient over value", ratio, 2.5, ".2f")
        ratio = self.differences / self.costs["iteration"]
        yield note(f"{what}: CPU time of central differences over an iteration", f"{ratio:.2f}")
        slopes = np.asarray(simulated(self.made, self.u).jacobian)
        step = 1e-6
        local = self.made.local()
        largest, worst = float(np.max(np.abs(slopes))), 0.0
        for k in range(slopes.shape[-1]):
            move = np.zeros(self.made.size)
            move[np.unique(local[:, k])] = step
            ahead = predict(self.made, self.u + jnp.asarray(move)).values
            behind = predict(self.made, self.u - jnp.asarray(move)).values
            found = np.asarray(ahead - behind) / (2 * step)
            worst = max(worst, float(np.max(np.abs(found - slopes[..., k]))) / largest)
        yield at_most(f"{what}: Jacobian against differences, relative", worst, 1e-7)


def _ours(problem) -> _Ours:
    return _Ours(problem, jaxspark.Gauss(2))
