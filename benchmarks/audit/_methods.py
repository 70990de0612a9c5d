"""The methods that are audited; each is compiled once for all starts and tolerances."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._mechanism import Mechanism, Start


MAX_STEPS = 20_000


class Run(NamedTuple):
    """What a run came to.

    - `y`, `z`, `multipliers`: at the end, shapes `(ny,)`, `(nz,)`, `(nlam + npsi,)`.
    - `accepted`, `rejected`: steps; the second also those in which Newton's iteration failed.
    - `outcome`: `"successful"`, `"out of steps"` or `"failed"`.
    """

    y: np.ndarray
    z: np.ndarray
    multipliers: np.ndarray
    accepted: int
    rejected: int
    outcome: str


Runner = Callable[[Start, float], Run]


@dataclass(frozen=True)
class Method:
    """A method of the audit.

    - `name`: as a user writes it.
    - `method`: for `jaxspark.solve`, or a solver for `jaxspark.Projected`.
    - `in_diffrax`: whether the latter.
    - `order`: of its error.
    - `tightest`: the tightest tolerance of the audit that it is asked for.
    """

    name: str
    method: Any
    order: int
    tightest: float = 1e-11
    in_diffrax: bool = False

    @property
    def explicit(self) -> bool:
        """Whether its steps are explicit, and projected."""
        return isinstance(self.method, diffrax.AbstractERK)

    def suits(self, mechanism: Mechanism) -> bool:
        """Whether it can solve this mechanism at all, as its documentation says."""
        lobatto = isinstance(self.method, jaxspark.Lobatto)
        if mechanism.massless and lobatto:
            return False
        system = mechanism.system
        if self.explicit and not self.in_diffrax:
            return system.friction is None and system.r is None and system.reaction is None
        return system.friction is None or lobatto or self.in_diffrax

    def runner(self, mechanism: Mechanism) -> Runner:
        """Compiles at the first call; other starts and tolerances need no compilation."""
        solve = _projected if self.in_diffrax else _solve

        @jax.jit
        def run(y, z, args, tolerance):
            return solve(mechanism, self.method, y, z, args, tolerance)

        def call(start: Start, tolerance: float) -> Run:
            out = run(start.y, start.z, start.args, tolerance)
            *state, accepted, rejected, good, short = (np.asarray(x) for x in out)
            outcome = "successful" if good else "out of steps" if short else "failed"
            return Run(*state, int(accepted), int(rejected), outcome)

        return call


def _flat(multipliers: jaxspark.Multipliers) -> Any:
    """`(lam, psi)` as one vector; of several rows the last."""
    parts = [jnp.zeros(0) if x is None else x for x in (multipliers.lam, multipliers.psi)]
    return jnp.concatenate([x[-1] if x.ndim == 2 else x for x in parts])


def solved(system: Any, method: Any, *start: Any, **options: Any) -> jaxspark.Solution:
    """`jaxspark.solve`, also of the version before, in which `method` came second."""
    if list(inspect.signature(jaxspark.solve).parameters)[1] == "method":
        return jaxspark.solve(system, method, *start, **options)
    return jaxspark.solve(system, *start, method=method, **options)


def _solve(mechanism: Mechanism, method: Any, y, z, args, tolerance):
    solution = solved(
        mechanism.system, method, y, z, args, t1=mechanism.t1, rtol=tolerance, atol=tolerance,
        max_steps=MAX_STEPS, multipliers=True, throw=False,
    )  # fmt: skip
    stats = solution.stats
    return (
        solution.y1, solution.z1, _flat(solution.multipliers), stats.num_steps,
        stats.num_rejected_steps + stats.num_failed_steps, solution.successful,
        solution.result == jaxspark.RESULTS.max_steps_reached,
    )  # fmt: skip


def _projected(mechanism: Mechanism, solver: Any, y, z, args, tolerance):
    system = mechanism.system
    solution = diffrax.diffeqsolve(
        jaxspark.UnderlyingTerm(system), jaxspark.Projected(solver), 0.0, mechanism.t1, None,
        (y, z), args, stepsize_controller=jaxspark.PIController(tolerance, tolerance),
        max_steps=MAX_STEPS, throw=False,
    )  # fmt: skip
    y1, z1 = (x[-1] for x in solution.ys)
    multipliers = _flat(jaxspark.multipliers(system, mechanism.t1, y1, z1, args))
    return (
        y1, z1, multipliers, solution.stats["num_accepted_steps"],
        solution.stats["num_rejected_steps"], solution.result == diffrax.RESULTS.successful,
        solution.result == diffrax.RESULTS.max_steps_reached,
    )  # fmt: skip


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("Gauss(2)", jaxspark.Gauss(2), 4, 1e-8),
        Method("Gauss(3)", jaxspark.Gauss(3), 6),
        Method("Gauss(4)", jaxspark.Gauss(4), 8),
        Method("Gauss(5)", jaxspark.Gauss(5), 10),
        Method("RadauIIA(2)", jaxspark.RadauIIA(2), 3, 1e-8),
        Method("RadauIIA(3)", jaxspark.RadauIIA(3), 5, 1e-10),
        Method("Lobatto(3)", jaxspark.Lobatto(3), 4, 1e-8),
        Method("Lobatto(4)", jaxspark.Lobatto(4), 6),
        Method("GGL(RadauIIA(3))", jaxspark.GGL(jaxspark.RadauIIA(3)), 5, 1e-10),
        Method("DOP853", jaxspark.DOP853(), 8),
        Method("Tsit5", diffrax.Tsit5(), 5, 1e-8),
        Method("Projected(DOP853)", jaxspark.DOP853(), 8, in_diffrax=True),
        Method("Projected(Dopri8)", diffrax.Dopri8(), 8, in_diffrax=True),
        Method("Projected(Tsit5)", diffrax.Tsit5(), 5, 1e-8, in_diffrax=True),
    )
}
