"""The methods that are audited; each is compiled once for all starts and tolerances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    - `method`: for `jaxspark.solve`.
    - `order`: of its error.
    - `tightest`: the tightest tolerance of the audit that it is asked for.
    """

    name: str
    method: Any
    order: int
    tightest: float = 1e-11

    @property
    def explicit(self) -> bool:
        """Whether its steps are explicit, and projected."""
        return isinstance(self.method, jaxspark.methods.ExplicitMethod)

    def suits(self, mechanism: Mechanism) -> bool:
        """Whether it can solve this mechanism at all, as its documentation says."""
        lobatto = isinstance(self.method, jaxspark.Lobatto)
        if mechanism.massless and lobatto:
            return False
        system = mechanism.system
        if self.explicit:
            return system.friction is None and system.r is None and system.reaction is None
        return system.friction is None or lobatto

    def runner(self, mechanism: Mechanism) -> Runner:
        """Compiles at the first call; other starts and tolerances need no compilation."""

        @jax.jit
        def run(y, z, args, tolerance):
            return _solve(mechanism, self.method, y, z, args, tolerance)

        def call(start: Start, tolerance: float) -> Run:
            out = run(start.y, start.z, start.args, tolerance)
            *state, accepted, rejected, good, short = (np.asarray(x) for x in out)
            outcome = "successful" if good else "out of steps" if short else "failed"
            return Run(*state, int(accepted), int(rejected), outcome)

        return call


def _flat(multipliers: jaxspark.diagnostics.Multipliers) -> Any:
    """`(lam, psi)` as one vector; of several rows the last."""
    parts = [jnp.zeros(0) if x is None else x for x in (multipliers.lam, multipliers.psi)]
    return jnp.concatenate([x[-1] if x.ndim == 2 else x for x in parts])


def _solve(mechanism: Mechanism, method: Any, y, z, args, tolerance):
    solution = jaxspark.solve(
        mechanism.system, y, z, args, method=method, t1=mechanism.t1, rtol=tolerance,
        atol=tolerance, max_steps=MAX_STEPS, multipliers=True, throw=False,
    )  # fmt: skip
    stats = solution.stats
    return (
        solution.y1, solution.z1, _flat(solution.multipliers), stats.num_steps,
        stats.num_rejected_steps + stats.num_failed_steps, solution.successful,
        solution.result == jaxspark.RESULTS.max_steps_reached,
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
        Method("Dopri8", jaxspark.methods.Dopri8(), 8),
        Method("Tsit5", jaxspark.Tsit5(), 5, 1e-8),
    )
}
