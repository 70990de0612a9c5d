"""Steps of one-step methods on the stabilised index-2 form, beside those of another program."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import GGL, Lobatto, RadauIIA, RESULTS

from .._figures import at_least, at_most, Figure, near, note
from ..problems import (
    Problem,
    rigid_double_pendulum,
    rigid_pendulum,
    spring_double_pendulum,
    spring_pendulum,
    yen_petzold_bushing,
    yen_petzold_linear,
    yen_petzold_spring,
)
from ._solvers import SLOW


STIFFNESSES = tuple(10.0**-k for k in range(3, 9))
TOLERANCES = (1e-3, 1e-5)
METHODS = {"Radau IIA(2)": RadauIIA(2), "Radau IIA(3)": RadauIIA(3)}
METHODS["Lobatto IIIC(3)"] = Lobatto(3, "C", "C", "C")
PENDULUMS: dict[str, tuple[Callable[..., Problem], Callable[[], Problem]]] = {
    "spring pendulum": (spring_pendulum, rigid_pendulum),
    "double pendulum": (spring_double_pendulum, rigid_double_pendulum),
}
# Steps, Newton iterations and errors at both tolerances, counted by a program in NumPy that was
# written from the same formulas.
COUNTED = {
    ("spring pendulum", "Radau IIA(2)"): ((10, 33, 4e-4), (32, 99, 7e-6)),
    ("spring pendulum", "Radau IIA(3)"): ((7, 27, 3e-5), (14, 51, 2e-6)),
    ("spring pendulum", "Lobatto IIIC(3)"): ((9, 26, 2e-4), (20, 61, 3e-6)),
    ("double pendulum", "Radau IIA(2)"): ((9, 29, 9e-4), (25, 81, 1e-5)),
    ("double pendulum", "Radau IIA(3)"): ((6, 20, 2e-4), (12, 41, 2e-6)),
    ("double pendulum", "Lobatto IIIC(3)"): ((8, 23, 2e-4), (17, 51, 2e-6)),
}
# The same with springs displaced by a tenth of the tolerance: the most steps and iterations.
DISPLACED = {"Radau IIA(2)": ((14, 50), (36, 114)), "Radau IIA(3)": ((12, 45), (18, 65))}


def one_step(tiny: bool) -> Iterator[Figure]:
    """Counts over six decades of stiffness; false convergence; published problems."""
    keys = list(COUNTED)[:1] if tiny else list(COUNTED)
    for name, method in keys:
        yield from _six_decades(name, method, 0.0)
        if method in DISPLACED and name == "spring pendulum" and not tiny:
            yield from _six_decades(name, method, 0.1)
    if not tiny:
        yield from _false_convergence()
        yield from _published()
        yield from _bushing()


def _six_decades(name: str, key: str, off: float) -> Iterator[Figure]:
    """All stiffnesses at once, compiled once; springs displaced by `off` times the tolerance."""
    make, rigid = PENDULUMS[name]
    slow, system = _slow(rigid()), make().system
    compiled = 0

    @jax.jit
    def batch(eps, y0, tolerance):
        nonlocal compiled
        compiled += 1

        def one(eps, y0):
            return jaxspark.solve(
                system, y0, jnp.zeros_like(y0), {"eps": eps},
                method=GGL(METHODS[key], error_norm=SLOW), t1=2.0, rtol=tolerance,
                first_step=1e-2, throw=False,
            )  # fmt: skip

        return jax.vmap(one)(eps, y0)

    for index, tolerance in enumerate(TOLERANCES):
        starts = [make(eps, off * tolerance).y0 for eps in STIFFNESSES]
        found = batch(jnp.array(STIFFNESSES), jnp.array(starts), tolerance)
        stats = jax.tree.map(np.asarray, found.stats)
        errors = np.asarray(found.y1)[:, : slow.size] - slow
        if off:
            # The softest spring, displaced, moves the mass by a third of that error.
            problem = make(STIFFNESSES[0], off * tolerance)
            errors[0] = found.y1[0, : slow.size] - _exact(problem)[: slow.size]
        error = np.max(np.abs(errors))
        steps, iterations, expected = COUNTED[name, key][index]
        factor = 1.25
        if off:
            (steps, iterations), factor = DISPLACED[key][index], 1.0
        what = f"{name}, {key}, tolerance {tolerance:g}, off by {off:g} of it, eps 1e-3..1e-8"
        yield at_most(f"{what}: most steps", np.max(stats.num_steps), factor * steps, ".0f")
        most = np.max(stats.newton_iterations)
        yield at_most(f"{what}: most iterations", most, factor * iterations, ".0f")
        if not off:
            yield at_most(f"{what}: steps, most - least", np.ptp(stats.num_steps), 1, ".0f")
        yield at_most(f"{what}: failures of Newton", np.max(stats.num_failed_steps), 0, ".0f")
        yield at_most(f"{what}: worst error", error, (4 if off else 2) * expected)
        good = int(np.sum(np.asarray(found.result == RESULTS.successful)))
        yield at_least(f"{what}: lanes that succeed", good, len(STIFFNESSES), ".0f")
    yield at_most(f"{name}, {key}, off by {off:g}: compilations", compiled, 1, ".0f")


def _slow(rigid: Problem) -> np.ndarray:
    end = jaxspark.solve(
        rigid.system,
        rigid.y0,
        rigid.z0,
        rigid.args,
        method=jaxspark.Gauss(4),
        t1=rigid.t_end,
        rtol=1e-11,
    )
    return np.asarray(end.y1)


def _exact(problem: Problem) -> np.ndarray:
    """The end with all oscillations resolved."""
    return np.asarray(_solve(problem, GGL(RadauIIA(5), error_norm=SLOW), 1e-11, 1e-4).y1)


def _false_convergence() -> Iterator[Figure]:
    """A residual that meets a stiffness of `1e16` must not pass for one that converges."""
    problem = spring_pendulum(1e-8, 1e-6)
    solution = _solve(problem, GGL(RadauIIA(3), error_norm=SLOW), 1e-5, 1e-2)
    error = np.max(np.abs(np.asarray(solution.y1)[:2] - _slow(rigid_pendulum())))
    yield at_most("spring pendulum off by 1e-6, eps 1e-8, Radau IIA(3), 1e-5: error", error, 1e-6)


def _published() -> Iterator[Figure]:
    """Problems of Yen & Petzold's section 5.1, with errors of the positions alone."""
    cases = [
        (
            "spring on a circle, eps 1e-4", yen_petzold_spring(1e-4), 1e-4,
            ((480, 1131), (199, 760)), (72, 30), 1.15,
        ),
        (
            "linear force C, eps 1e-6", yen_petzold_linear("C", 1e-6), 1e-3,
            ((8, 18), (11, 25)), (3, 3), None,
        ),
    ]  # fmt: skip
    # Of the few steps of the second one, the number alone is compared.
    for name, problem, tolerance, several, within, factor in cases:
        for stages, (steps, iterations), width in zip((2, 3), several, within, strict=True):
            method = GGL(RadauIIA(stages), error_norm="positions")
            stats = _solve(problem, method, tolerance, 1e-3 * problem.t_end).stats
            what = f"{name}, Radau IIA({stages}), tolerance {tolerance:g}"
            yield near(f"{what}: steps", int(stats.num_steps), steps, width)
            found = int(stats.newton_iterations)
            # Published are those of accepted steps.
            words = f"{what}: iterations, those of rejected steps included"
            if factor is None:
                yield note(f"{words} ({iterations} elsewhere)", str(found))
            else:
                yield at_most(words, found, factor * iterations, ".0f")
            yield at_most(f"{what}: failures of Newton", int(stats.num_failed_steps), 0, ".0f")


def _bushing() -> Iterator[Figure]:
    """From the equilibrium, and from the printed start by `jaxspark.stiff.damp_start`."""
    problem = yen_petzold_bushing(1e-6)
    down = -problem.args["g"] * problem.args["eps"]
    across, speed = np.sqrt(1 - down**2), problem.z0[4]
    rest = np.array([0, 0, 0, across, down, 0.0])
    slow = np.array([0, 0, 0, -down * speed / across, speed, 0.0])
    for key, method in METHODS.items():
        what = f"bushing, eps 1e-6, {key}, tolerance 1e-4"
        found = jaxspark.solve(
            problem.system, rest, slow, problem.args, method=GGL(method, error_norm=SLOW),
            t1=1.0, rtol=1e-4, first_step=1e-3,
        )  # fmt: skip
        yield at_most(f"{what}, from rest: steps", int(found.stats.num_steps), 8, ".0f")
        iterations = int(found.stats.newton_iterations)
        yield at_most(f"{what}, from rest: iterations", iterations, 16, ".0f")
        yield at_most(f"{what}, from rest: rejected", int(found.stats.num_rejected_steps), 0, ".0f")
        start = jaxspark.stiff.damp_start(
            problem.system, problem.y0, problem.z0, problem.args, h=1e-2, rtol=1e-4
        )
        found = jaxspark.solve(
            problem.system, start.y, start.z, problem.args, method=GGL(method, error_norm=SLOW),
            t0=start.t, t1=1.0, rtol=1e-4, first_step=1e-2,
        )  # fmt: skip
        steps = 3 + int(found.stats.num_steps)
        yield at_most(f"{what}, printed start, damped: steps", steps, 17, ".0f")


def _solve(problem: Problem, method: Any, tolerance: float, first: float) -> jaxspark.Solution:
    return jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=method, t1=problem.t_end,
        rtol=tolerance, first_step=first, max_steps=None, throw=False,
    )  # fmt: skip
