"""Value and gradient of a fit: six parameters of a four-bar linkage, 200 observations."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import at_most, Figure, note
from .._result import is_ours, ours, Result


ERROR = 1e-8
SECONDS, RATIO = 8e-3, 2.2


def measure_gradient(tiny: bool) -> Iterator[Result]:
    """Ours by the reverse mode, diffrax, and CasADi's integrators with their adjoints.

    Each at one or two settings that come close to the error that is asked for.
    """
    fit = peers.fit_problem(10, 0.5) if tiny else peers.fit_problem()
    yield from _ours(fit, tiny)
    if not tiny:  # of whose code the reference makes use
        yield from _by_diffrax(fit)
    if peers.available("casadi"):
        yield from _by_casadi(fit, tiny)


def judge_gradient(results: Sequence[Result]) -> Iterator[Figure]:
    """Time, its ratio to the value's, and the same of others at the error."""
    what = "four-bar fit, gradient at an error of 1e-8"
    good = [result for result in results if result.error <= ERROR]
    own = [result for result in good if is_ours(result.solver)]
    # The same setting for both targets: the slower one if only that meets the second.
    fit = [r for r in own if r.seconds <= RATIO * r.extra["value_seconds"]]
    best = min(fit or own, key=lambda result: result.seconds, default=None)
    seconds = math.inf if best is None else best.seconds
    ratio = math.inf if best is None else best.seconds / best.extra["value_seconds"]
    yield at_most(f"{what}: CPU ms of value and gradient", 1e3 * seconds, 1e3 * SECONDS, ".2f")
    yield at_most(f"{what}: over that of the value", ratio, RATIO, ".2f")
    worst = max(result.residual for result in results if is_ours(result.solver))
    yield at_most(f"{what}: greatest residual of a constraint", worst, 1e-13)
    for solver in dict.fromkeys(r.solver for r in results if not is_ours(r.solver)):
        theirs = min((r.seconds for r in good if r.solver == solver), default=math.inf)
        least = min(r.error for r in results if r.solver == solver)
        words = f"{1e3 * theirs:.1f}; {theirs / seconds:.1f}"
        words = words if theirs < math.inf else f"not reached, {least:.1e}"
        yield note(f"{what}, {solver}: CPU ms; over ours", words)


def _ours(fit: peers.Fit, tiny: bool) -> Iterator[Result]:
    """Newton to rounding error, as by default, and to where constraints are met to 1e-13."""
    stages = 2 if tiny else 7
    system, start = peers.four_bar(), peers.FourBar()
    q0, v0 = jnp.asarray(start.q0), jnp.asarray(start.v0)

    @functools.partial(jax.jit, static_argnums=1)
    def motion(p, tolerance):
        return jaxspark.rollout(
            system, q0, v0, p, method=jaxspark.Gauss(stages), t1=fit.times[-1],
            num_steps=fit.times.size, newton=jaxspark.NewtonOptions(tolerance, tolerance),
            throw=False,
        )  # fmt: skip

    def value(p, tolerance):
        return fit.loss(motion(p, tolerance).ys[1:, 0])

    for tolerance, words in ((None, ""), (1e-14, ", Newton to 1e-14"))[: 1 if tiny else 2]:
        of_point = functools.partial(value, tolerance=tolerance)
        solver, setting = ours(f"Gauss({stages}), reverse mode"), f"{fit.times.size} steps{words}"
        result = _of_jax(fit, solver, setting, (of_point, jax.value_and_grad(of_point)))
        stats = motion(jnp.asarray(fit.point), tolerance).stats
        residual = max(float(stats.max_g), float(stats.max_gdot))
        yield dataclasses.replace(result, residual=residual)


def _by_diffrax(fit: peers.Fit) -> Iterator[Result]:
    cases: list[tuple[peers.Form, peers.Mode, str, tuple[float, ...]]] = [
        ("reduced", "forward", peers.BY_HAND, (1e-8, 1e-9)),
        ("kkt", "forward", peers.KKT_ODE, (1e-9, 1e-10)),
        ("kkt", "reverse", peers.KKT_ODE, (1e-9, 1e-10)),
    ]
    for form, mode, words, tolerances in cases:
        for tolerance in tolerances:
            functions = peers.by_diffrax(fit, form, tolerance, mode)
            solver = f"{words}, {mode} mode"
            yield _of_jax(fit, solver, peers.tolerance(tolerance), functions)


def _by_casadi(fit: peers.Fit, tiny: bool) -> Iterator[Result]:
    twice, thrice = 2 * fit.times.size, 3 * fit.times.size
    cases: list[tuple[peers.Plugin, str, tuple[float, ...]]] = [
        ("collocation", "Gauss collocation (4)", (twice, thrice)),
        ("idas", "idas", (1e-7,)),
        ("cvodes", "cvodes, reduced by hand", (1e-8,)),
    ]
    for plugin, words, settings in cases:
        for setting in settings[:1] if tiny else settings:
            begin = time.process_time()
            value, both = peers.by_casadi(fit, plugin, setting)
            solver = f"CasADi {words}, adjoints"
            text = f"{setting:g} elements" if setting > 1 else peers.tolerance(setting)
            try:
                both(fit.point)
                first = time.process_time() - begin
                yield _result(fit, solver, text, value, both, {"first_call": first})
            except RuntimeError:  # the integrator gave up
                continue


def _of_jax(fit: peers.Fit, solver: str, setting: str, functions: tuple[Any, Any]) -> Result:
    point, begin = jnp.asarray(fit.point), time.process_time()
    both = jax.jit(functions[1]).lower(point).compile()
    jax.block_until_ready(both(point))
    extra = {"first_call": time.process_time() - begin}
    analysis = both.memory_analysis()
    if analysis is not None:
        extra["memory"] = float(analysis.temp_size_in_bytes)
    value = jax.jit(functions[0]).lower(point).compile()
    return _result(
        fit, solver, setting, lambda p: jax.block_until_ready(value(jnp.asarray(p))),
        lambda p: jax.block_until_ready(both(jnp.asarray(p))), extra,
    )  # fmt: skip


def _result(
    fit: peers.Fit,
    solver: str,
    setting: str,
    value: Callable[[Any], Any],
    both: Callable[[Any], Any],
    extra: dict[str, float],
) -> Result:
    _, value_seconds = peers.least_seconds(lambda: value(fit.point))
    (_, gradient), seconds = peers.least_seconds(lambda: both(fit.point))
    scale = np.max(np.abs(fit.gradient))
    error = float(np.max(np.abs(np.asarray(gradient) - fit.gradient)) / scale)
    extra = {"value_seconds": value_seconds, **extra}
    what = f"four-bar fit, 6 parameters, {fit.times.size} observations"
    return Result("gradient", what, solver, setting, seconds, error, extra=extra)
