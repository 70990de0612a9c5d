"""Trajectories per second of a batch of four-bar linkages."""

from collections.abc import Iterator, Sequence
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import Figure
from .._result import ours, Result
from ..peers import _fourbar
from ._rates import in_jax, judge, of_batch


LANES = 1024
TARGET = 1200  # per second
END = 10.0  # s
WINDOW = 128
# With diffrax's own control, of safety 0.9 and no memory, more steps were rejected.
CONTROL = {"safety": 0.8, "pcoeff": 0.2, "icoeff": 0.8}
MUJOCO = {0.01: 64, 0.001: 24}  # how many of the trajectories, by step size


def measure_four_bars(tiny: bool) -> Iterator[Result]:
    """1024 linkages for 10 s: ours, the hand-reduced equation, the KKT ODE, MuJoCo.

    The hand-reduced equation also by the solver, the control and tolerances like those of ours.
    """
    lanes, end = (4, 1.0) if tiny else (LANES, END)
    crank, parameters = (jnp.asarray(x) for x in starts(lanes))
    problem = f"{lanes} four-bars, {end:g} s"
    exact = np.asarray(jax.jit(_reduced(end, 1e-13))(crank, parameters))
    q, v = jax.vmap(peers.four_bar_state)(crank)
    yield from _ours(problem, (q, v, parameters), exact, end, tiny)
    for tolerance in () if tiny else (1e-8, 1e-9):  # the code that made `exact`
        words, run = peers.tolerance(tolerance), _reduced(end, tolerance)
        solver = peers.BY_HAND
        yield in_jax(problem, solver, words, run, (crank, parameters), exact)
    for tolerance in () if tiny else (1e-8, 2e-8, 1e-7):
        run = _reduced(end, tolerance, diffrax.Dopri8(), **CONTROL)
        words, solver = peers.tolerance(tolerance), "Dopri8 and control as ours, reduced by hand"
        yield in_jax(problem, solver, words, run, (crank, parameters), exact)
    for tolerance in () if tiny else (1e-9, 1e-10):
        words, both = peers.tolerance(tolerance), jnp.concatenate([q, v], 1)
        run = peers.drifting_lanes(peers.FourBar, end, tolerance)
        yield in_jax(problem, peers.KKT_ODE, words, run, (both, parameters), exact)
    if peers.available("mujoco"):
        for step, count in {0.01: 2}.items() if tiny else MUJOCO.items():
            models = zip(map(peers.four_bar_model, parameters), *map(np.asarray, (q, v)))
            rollouts = peers.Rollouts(list(models)[:count], end, step)
            found, seconds = peers.least_seconds(rollouts)
            words = f"{round(end / step)} steps"
            yield of_batch(problem, peers.MuJoCo.name, words, found, seconds, exact, lanes)


def judge_four_bars(results: Sequence[Result]) -> Iterator[Figure]:
    """The rate at the error."""
    return judge(results, TARGET)


def starts(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Angles and rates of the crank, shape `(count, 2)`, and parameters, shape `(count, 6)`."""
    rng = np.random.default_rng(seed)
    crank = np.stack([rng.uniform(0.3, 1.7, count), rng.uniform(-1, 1, count)], 1)
    return crank, _fourbar.NOMINAL * rng.uniform(0.8, 1.2, (count, 6))


def _ours(
    problem: str, given: tuple[Any, Any, Any], exact: Any, end: float, tiny: bool
) -> Iterator[Result]:
    """DOP853 on the underlying ODE, each step of each lane projected; windows of like energy."""
    for tolerance in (1e-5,) if tiny else (1.5e-8, 2.2e-8):
        run, words = _projected(end, tolerance), peers.tolerance(tolerance)
        yield in_jax(problem, ours("projected DOP853"), words, jax.vmap(run), given, exact)
        windows = jaxspark.batch.in_windows(run, WINDOW, cost=_energy)
        solver = ours(f"projected DOP853 in windows of {WINDOW}")
        yield in_jax(problem, solver, words, windows, given, exact)


def _energy(q: Any, v: Any, parameters: Any) -> Any:
    """What there is when a motion begins: the more, the faster it will be."""

    def potential(t, q, p):
        del t
        return _fourbar.potential(jnp, q, p)

    return jaxspark.diagnostics.energy(peers.four_bar(), 0.0, q, v, parameters, potential=potential)


def _projected(end: float, tolerance: float):
    system = peers.four_bar()

    def run(q: Any, v: Any, parameters: Any) -> tuple[Any, Any]:
        solution = jaxspark.solve(
            system, q, v, parameters, method=jaxspark.DOP853(), t1=end, rtol=tolerance,
            max_steps=None, throw=False,
        )  # fmt: skip
        stats = solution.stats
        return jnp.concatenate([solution.y1, solution.z1]), jnp.maximum(stats.max_g, stats.max_gdot)

    return run


def _reduced(end: float, tolerance: float, *solver: Any, **control: float):
    def field(x: Any, parameters: Any) -> Any:
        return _fourbar.reduced(jnp, x, parameters)

    def expand(x: Any, parameters: Any) -> Any:
        del parameters
        return _fourbar.expand(jnp, x)

    return peers.reduced_lanes(field, expand, end, tolerance, *solver, **control)
