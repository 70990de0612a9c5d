"""Solvers in JAX: jaxspark's methods, and those of diffrax on the underlying ODE."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._arrays import Arrays
from ._kkt import kkt_ode
from ._mechanism import Mechanism
from ._run import Run
from ._system import constrained_system


KKT_ODE = "diffrax Dopri8, KKT ODE"
MAX_STEPS = 50_000  # of explicit methods, which may drift to where no step is small enough

Integrate = Callable[[jax.Array], tuple[jax.Array, jax.Array, jax.Array]]


class Compiled:
    """A function of the tolerance that returns the end, whether it is one, and a residual."""

    def __init__(self, name: str, integrate: Integrate):
        self.name = name
        self._integrate = jax.jit(integrate).lower(jnp.asarray(1e-3)).compile()

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        value = jnp.asarray(tolerance)
        return lambda: jax.block_until_ready(self._integrate(value))

    def read(self, result: Any) -> Run:
        """What the function returned."""
        end, good, worst = result
        if not bool(good):
            raise RuntimeError(f"{self.name} failed")
        return Run(np.asarray(end), float(worst))


def spark(
    mechanism: Mechanism, method: jaxspark.methods.AbstractSparkMethod, name: str
) -> Compiled:
    """`jaxspark.solve` with this method."""
    return Compiled(name, _solved(mechanism, method))


def projected(mechanism: Mechanism) -> Compiled:
    """Dopri8 on the underlying ODE, each step projected: `jaxspark.solve`."""
    return Compiled("projected Dopri8", _solved(mechanism, jaxspark.methods.Dopri8()))


def _solved(mechanism: Mechanism, method: Any) -> Integrate:
    """The end by `jaxspark.solve`, and the greatest residual of a constraint after any step."""
    system, (y0, z0) = constrained_system(mechanism), Arrays(mechanism).state()

    def integrate(tolerance):
        solution = jaxspark.solve(
            system, y0, z0, None, method=method,
            t0=0.0, t1=mechanism.t_end, rtol=tolerance, max_steps=None, throw=False,
        )  # fmt: skip
        stats = solution.stats
        worst = jnp.max(jnp.stack([stats.max_g, stats.max_gdot, stats.max_k]))
        good = solution.result == jaxspark.RESULTS.successful
        return jnp.concatenate([solution.y1, solution.z1]), good, worst

    return integrate


def drifting(mechanism: Mechanism) -> Compiled:
    """Dopri8 on the underlying ODE as anyone would write it down, without projections."""
    start = jnp.concatenate(Arrays(mechanism).state())
    term = diffrax.ODETerm(kkt_ode(mechanism))
    return Compiled(KKT_ODE, _explicit(mechanism, term, diffrax.Dopri8(), start))


def _explicit(
    mechanism: Mechanism, term: Any, solver: diffrax.AbstractSolver, start: Any
) -> Integrate:
    def integrate(tolerance):
        solution = diffrax.diffeqsolve(
            term, solver, 0.0, mechanism.t_end, None, start,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            max_steps=MAX_STEPS, throw=False,
        )  # fmt: skip
        assert solution.ys is not None
        end = jnp.concatenate([jnp.ravel(part[-1]) for part in jax.tree.leaves(solution.ys)])
        return end, solution.result == diffrax.RESULTS.successful, jnp.asarray(jnp.nan)

    return integrate
