"""Solvers of stiff mechanisms, ours and others, as functions of the tolerance."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers, problems


MAX_STEPS, MAX_EVALUATIONS = 20_000, 20_000
RADAU3, RADAU2 = "GGL Radau IIA(3)", "GGL Radau IIA(2)"
GAUSS, BDF, FORCES = "Gauss(3)", "BDF2-CM", ", forces"
SLOW = "slow motion"


class Case(NamedTuple):
    """A problem with elongations as coordinates, for any stiffness.

    - `build`: the problem, from `eps`.
    - `positions`: how many of the coordinates, the first ones, are those of bodies.
    - `limit`: the rigid mechanism, if it moves; if not, the problem starts with an oscillation of
        size `eps^(1/2)` about its rest, and steps depend on how that compares with tolerances.
    """

    build: Callable[[float], problems.Problem]
    positions: int
    limit: Callable[[], problems.Problem] | None


def _at_rest(eps: float) -> problems.Problem:
    return problems.yen_petzold_bushing_elongated(eps, "equilibrium")


PROBLEMS = {
    "spring pendulum": Case(problems.spring_pendulum, 2, problems.rigid_pendulum),
    "spring double pendulum": Case(
        problems.spring_double_pendulum, 4, problems.rigid_double_pendulum
    ),
    "swinging bushing": Case(problems.swinging_bushing_elongated, 6, problems.swinging_rigid),
    "bushing": Case(_at_rest, 6, None),
}
"""Those whose stiff springs hardly change a slow motion, if there is one."""


class Method:
    """A method of ours, compiled once for a problem and every stiffness and tolerance."""

    def __init__(self, name: str, integrate: Callable[..., Any]):
        self.name = name
        self._integrate = jax.jit(integrate)

    def at(self, problem: problems.Problem) -> "Bound":
        """The solver of the problem with its stiffness."""
        return Bound(self.name, self._integrate, problem)


class Bound:
    """A `peers.Solver` that also counts."""

    def __init__(self, name: str, integrate: Callable[..., Any], problem: problems.Problem):
        self.name = name
        numbers = jax.tree.map(jnp.asarray, (problem.y0, problem.z0, problem.args))
        self._solve = lambda tolerance: integrate(*numbers, tolerance)
        self.run(1e-3)()

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this tolerance, absolute and relative."""
        value = jnp.asarray(tolerance)
        return lambda: jax.block_until_ready(self._solve(value))

    def read(self, result: Any) -> peers.Run:
        """What the function returned: coordinates only."""
        end, good, _ = result
        if not bool(good):
            raise RuntimeError(f"{self.name} failed")
        return peers.Run(np.asarray(end))

    def count(self, tolerance: float) -> int:
        """The number of accepted steps."""
        return int(self.run(tolerance)()[2])


def _ends(solution: Any) -> tuple[Any, Any, Any]:
    end = jax.flatten_util.ravel_pytree(solution.y1)[0]
    return end, solution.result == jaxspark.RESULTS.successful, solution.stats.num_steps


def spark(name: str, method: Any, problem: problems.Problem) -> Method:
    """`jaxspark.solve` with a method, which may be a `jaxspark.GGL`."""

    def integrate(y0, z0, args, tolerance):
        return _ends(
            jaxspark.solve(
                problem.system, y0, z0, args, method=method, t1=problem.t_end, rtol=tolerance,
                max_steps=None if isinstance(method, jaxspark.GGL) else MAX_STEPS, throw=False,
            )
        )  # fmt: skip

    return Method(name, integrate)


def bdf(problem: problems.Problem) -> Method:
    """`jaxspark.stiff.bdf`, as the paper's CM with `P` at each step's prediction."""

    def integrate(y0, z0, args, tolerance):
        return _ends(
            jaxspark.stiff.bdf(
                problem.system, y0, z0, args, t1=problem.t_end, rtol=tolerance,
                formulation="cm_step", max_steps=MAX_STEPS, throw=False,
            )
        )  # fmt: skip

    return Method(BDF, integrate)


def ours(name: str) -> list[Method]:
    """All of our methods for a problem."""
    problem = PROBLEMS[name].build(1e-4)
    return [
        spark(RADAU3, jaxspark.GGL(jaxspark.RadauIIA(3), error_norm=SLOW), problem),
        spark(RADAU2, jaxspark.GGL(jaxspark.RadauIIA(2), error_norm=SLOW), problem),
        spark(GAUSS, jaxspark.Gauss(3), problem),
        bdf(problem),
    ]


def rivals(name: str, eps: float) -> Iterator[Callable[[], Any]]:
    """Those from outside, each with elongations as coordinates, as that suits all of them.

    Velocities are in the error test of some and not of others: either may be the cheaper. Those
    called `FORCES` have the springs' forces instead, as one would write them down.
    """
    plain, long = peers.stiff_mechanisms(eps)[name]
    for form, velocities, order in (("ggl", False, 5), ("ggl", False, 2), ("gglint", False, 5)):
        yield lambda form=form, velocities=velocities, order=order: _named(
            f"IDA {form}, order {order}", peers.IDA(long, form, velocities, order)
        )
    yield lambda: _named("solve_dae Radau(3) ggl", _solve_dae(long, "ggl", False))
    yield lambda: _named("solve_dae Radau(3) gglint", _solve_dae(long, "gglint", True))
    yield lambda: _named(f"IDA ggl{FORCES}", peers.IDA(plain, "ggl", False))
    yield lambda: _named(f"solve_dae Radau(3){FORCES}", _solve_dae(plain, "gglint", False))


def _solve_dae(mechanism: peers.Mechanism, form: Any, velocities: bool) -> peers.SolveDAE:
    return peers.SolveDAE(mechanism, form, velocities, MAX_EVALUATIONS)


def _named(name: str, solver: Any) -> Any:
    solver.name = name
    return solver


class Failures:
    """How many attempts of a step Newton's iteration does not solve; compiled once."""

    def __init__(self, method: jaxspark.GGL, problem: problems.Problem):
        def integrate(y0, z0, args, tolerance):
            return jaxspark.solve(
                problem.system, y0, z0, args, method=method, t1=problem.t_end, rtol=tolerance,
                max_steps=MAX_STEPS, throw=False,
            ).stats.num_failed_steps  # fmt: skip

        self._integrate = jax.jit(integrate)

    def count(self, problem: problems.Problem, tolerance: float) -> int:
        """Those of a run of its own."""
        numbers = jax.tree.map(jnp.asarray, (problem.y0, problem.z0, problem.args))
        return int(self._integrate(*numbers, jnp.asarray(tolerance)))
