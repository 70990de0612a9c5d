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


def spark(mechanism: Mechanism, method: jaxspark.AbstractSparkMethod, name: str) -> Compiled:
    """`jaxspark.solve` with this method; the residuals are those after every step."""
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

    return Compiled(name, integrate)


class Projected(Compiled):
    """Dopri8 on the underlying ODE, each step projected."""

    def __init__(self, mechanism: Mechanism):
        self._system, self._t_end = constrained_system(mechanism), mechanism.t_end
        self._start = Arrays(mechanism).state()
        self._term = jaxspark.UnderlyingTerm(self._system)
        solver = jaxspark.Projected(diffrax.Dopri8())
        super().__init__("projected Dopri8", _explicit(mechanism, self._term, solver, self._start))

    def worst(self, tolerance: float) -> float:
        """The greatest residual of a constraint after any step, from a run of its own."""
        value = jnp.asarray(tolerance)
        solution = diffrax.diffeqsolve(
            self._term, jaxspark.Projected(diffrax.Dopri8()), 0.0, self._t_end, None, self._start,
            stepsize_controller=diffrax.PIDController(rtol=value, atol=value),
            saveat=diffrax.SaveAt(steps=True), max_steps=MAX_STEPS, throw=False,
        )  # fmt: skip
        assert solution.ts is not None and solution.ys is not None
        made = np.isfinite(solution.ts)
        ts, (ys, zs) = jax.tree.map(lambda x: x[made], (solution.ts, solution.ys))
        residuals = jaxspark.constraint_residuals(self._system, ts, ys, zs)
        return max(float(np.max(np.abs(x), initial=0)) for x in jax.tree.leaves(residuals))


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
