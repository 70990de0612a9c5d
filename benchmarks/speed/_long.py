"""A pendulum over 500 periods."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import at_most, Figure, note
from .._result import ours, Result
from ._pendulums import GRAVITY, system


ORDER, STEP = 8, 0.05
SECONDS = 0.06


def measure_long(tiny: bool) -> Iterator[Result]:
    """1000 s: ours, CasADi's Gauss collocation, Exudyn, the hand-reduced equation.

    The error is the greatest of the energy relative to m g L, ours after every step, that of
    others at every second; so are the residuals.
    """
    end = 10.0 if tiny else 1000.0
    problem, pendulum = f"pendulum, {end:g} s", peers.Pendulum(t_end=end)
    yield _ours(problem, end)
    for tolerance in (1e-9,) if tiny else (1e-9, 1e-11):
        run = jax.jit(peers.every_second("pendulum", end)).lower(tolerance).compile()
        call = lambda run=run, tolerance=tolerance: jax.block_until_ready(run(tolerance))
        solver = peers.BY_HAND
        yield _result(problem, solver, peers.tolerance(tolerance), call)
    elements = round(end / 0.01)
    if peers.available("casadi"):
        gauss = peers.CasADi(pendulum, "gauss", stages=2)
        call = gauss.at(np.arange(1.0, end + 0.5).tolist(), 1 / elements)
        yield _result(
            problem, gauss.name, f"{elements} elements", call, lambda x: (x[:, :2], x[:, 2:])
        )
    if peers.available("exudyn"):
        for scheme in ("generalized alpha", "trapezoidal rule"):
            exudyn = peers.Exudyn(pendulum, scheme, every=1.0)
            call = exudyn.run(1 / elements)
            yield _result(
                problem, exudyn.name, f"{elements} steps", call, lambda _, x=exudyn: x.written()
            )


def judge_long(results: Sequence[Result]) -> Iterator[Figure]:
    """CPU time, and an energy error that stays bounded."""
    own, *others = results
    what = f"{own.problem}, {own.solver}, {own.setting}"
    yield at_most(f"{what}: CPU s", own.seconds, SECONDS, ".4f")
    yield at_most(f"{what}: energy error, of m g L", own.error, 1e-9)
    words = f"{own.extra['first_half']:.2e}, {own.extra['second_half']:.2e}"
    yield note(f"{what}: energy error, first half, second half", words)
    yield at_most(f"{what}: greatest residual of a constraint", own.residual, 1e-13)
    for other in others:
        words = f"{other.seconds / own.seconds:.1f}; {other.error:.1e}"
        name = f"{other.problem}, {other.solver}, {other.setting}"
        yield note(f"{name}: CPU time over ours; energy error", words)


def _ours(problem: str, end: float) -> Result:
    steps = round(end / STEP)
    method = jaxspark.Composition(jaxspark.Lobatto(2), ORDER)
    y0, z0, length = jnp.array([1.0, 0.0]), jnp.zeros(2), jnp.ones(())

    def run(y, z, length, every):
        return jaxspark.rollout(
            system(), y, z, length, method=method, h=STEP, num_steps=steps, save_every=every
        )

    timed = jax.jit(lambda *start: run(*start, None)).lower(y0, z0, length).compile()
    _, seconds = peers.least_seconds(lambda: jax.block_until_ready(timed(y0, z0, length)))
    solution = run(y0, z0, length, 1)
    wrong = _energy_errors(solution.ys, solution.zs)
    halves = {"first_half": wrong[: steps // 2].max(), "second_half": wrong[steps // 2 :].max()}
    worst = max(float(solution.stats.max_g), float(solution.stats.max_gdot))
    solver = ours(f"RATTLE composed to order {ORDER}")
    extra = {name: float(value) for name, value in halves.items()}
    return Result(
        "long-time", problem, solver, f"{steps} steps", seconds, float(wrong.max()), worst, extra
    )


def _result(
    problem: str,
    solver: str,
    setting: str,
    call: Callable[[], Any],
    read: Callable[[Any], tuple[Any, Any]] = lambda states: states,
) -> Result:
    """Of a run whose states at every second are read afterwards."""
    found, seconds = peers.least_seconds(call)
    q, v = (np.asarray(part) for part in read(found))
    worst = max(np.abs((q**2).sum(1) - 1).max() / 2, np.abs((q * v).sum(1)).max())
    error = float(_energy_errors(q, v).max())
    return Result("long-time", problem, solver, setting, seconds, error, float(worst))


def _energy_errors(q: Any, v: Any) -> np.ndarray:
    """Relative to m g L; the energy is zero at the start."""
    q, v = np.asarray(q), np.asarray(v)
    return np.abs(0.5 * np.sum(v**2, 1) + GRAVITY * q[:, 1]) / GRAVITY
