"""Stiff mechanisms, with their springs as forces and as coordinates, are what they should be."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import jaxspark
from benchmarks import peers, problems


PUBLISHED = [
    *((problems.yen_petzold_linear, variant, 1e-2) for variant in "AB"),
    (problems.yen_petzold_linear, "B", 1e-4),
    *((problems.yen_petzold_linear, "C", eps) for eps in (1e-2, 1e-4, 1e-5, 1e-6)),
    *((problems.yen_petzold_spring, eps) for eps in (1e-2, 1e-3, 1e-4, 1e-5)),
    *((problems.yen_petzold_bushing, eps) for eps in (1e-3, 1e-5, 1e-6)),
    *((problems.stiff_spring_double_pendulum, k) for k in (1e4, 1e6)),
]
SPRINGS = {
    "spring": (problems.yen_petzold_spring, problems.yen_petzold_spring_elongated),
    "bushing": (problems.yen_petzold_bushing, problems.yen_petzold_bushing_elongated),
    "double": (
        problems.stiff_spring_double_pendulum,
        problems.stiff_spring_double_pendulum_elongated,
    ),
    "swinging": (problems.swinging_bushing, problems.swinging_bushing_elongated),
}
LIMITS = [
    (problems.spring_pendulum, problems.rigid_pendulum, 2),
    (problems.spring_double_pendulum, problems.rigid_double_pendulum, 4),
    (problems.swinging_bushing, problems.swinging_rigid, 6),
]


def consistent(problem):
    at = (problem.t0, problem.y0, problem.z0, problem.args)
    residuals = jax.tree.leaves(jaxspark.diagnostics.constraint_residuals(problem.system, *at))
    return max(np.max(np.abs(x), initial=0.0) for x in residuals) <= 1e-15


@eqx.filter_jit
def multipliers(system, y, z, args):
    return jaxspark.multipliers(system, 0.0, y, z, args).lam


@eqx.filter_jit
def _rates(system, y, z, args):
    return jaxspark.underlying_ode(system)(0.0, (y, z), args)[1]


def accelerations(problem):
    return _rates(problem.system, problem.y0, problem.z0, problem.args)


def name(case):
    return case[0](*case[1:]).name


@pytest.mark.parametrize("case", PUBLISHED, ids=name)
def test_states_of_the_references(case):
    build, *parameters = case
    problem = build(*parameters)
    reference = problem.reference()
    assert problem.name == reference["name"] and problem.t_end == reference["t_end"]
    assert consistent(problem)
    np.testing.assert_allclose(problem.y0, reference["y0"], rtol=1e-15, atol=1e-17)
    np.testing.assert_allclose(problem.z0, reference["z0"], rtol=1e-14, atol=1e-17)
    # All forces. What remains are rounding errors of the states, times the stiffness.
    stiffness = problem.args["k"] if "k" in problem.args else problem.args["eps"] ** -2
    end = (reference["checkpoints"][-1][key] for key in ("y", "z", "lambda"))
    for y, z, lam in ((reference["y0"], reference["z0"], reference["lambda0"]), end):
        found = multipliers(problem.system, np.array(y), np.array(z), problem.args)
        np.testing.assert_allclose(found, lam, rtol=1e-12, atol=4e-16 * stiffness)


@pytest.mark.parametrize("builds", SPRINGS.values(), ids=SPRINGS)
def test_springs_as_coordinates_pull_as_hard(builds):
    plain, long = (build() for build in builds)
    assert consistent(plain) and consistent(long)
    np.testing.assert_array_equal((long.y0[0], long.z0[0]), (plain.y0, plain.z0))
    expected = multipliers(plain.system, *long.y0[:1], *long.z0[:1], plain.args)
    found, tension = multipliers(long.system, long.y0, long.z0, long.args)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9)
    d = long.system.damping
    damping = d(long.args) if callable(d) else d
    pull = long.system.stiffness(long.args) * long.y0[1] + damping * long.z0[1]
    np.testing.assert_allclose(tension, pull, rtol=1e-12)


def test_the_bushing_is_symmetric():
    for problem in (problems.yen_petzold_bushing(), problems.swinging_bushing()):
        turned = jnp.array([0.1, 0.2, 0.4, 1.1, 0.3, -0.5])
        rest = jnp.zeros(6)
        by_place = jax.jacfwd(lambda q: problem.system.f(0.0, q, rest, problem.args))(turned)
        by_speed = jax.jacfwd(lambda v: problem.system.f(0.0, turned, v, problem.args))(rest)
        for matrix in (by_place, by_speed):
            assert np.max(np.abs(matrix)) >= 1
            np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-10)


def test_the_bushing_may_start_at_its_equilibrium():
    problem = problems.yen_petzold_bushing(1e-6, "equilibrium")
    still = replace(problem, z0=np.zeros(6))
    assert consistent(problem) and np.max(np.abs(accelerations(still))) <= 1e-9


@pytest.mark.parametrize("build, limit, positions", LIMITS)
def test_slow_motions_start_like_their_rigid_limits(build, limit, positions):
    rigid = limit()
    expected = accelerations(rigid)
    assert consistent(rigid)
    for eps in (1e-4, 1e-6):
        problem = build(eps)
        assert consistent(problem)
        softness = eps if "bushing" in problem.name else eps**2
        np.testing.assert_allclose(problem.y0[:positions], rigid.y0, rtol=0, atol=10 * softness)
        found = accelerations(problem)[:positions]
        rounding = 1e-15 / softness
        np.testing.assert_allclose(found, expected, rtol=0, atol=100 * softness + rounding)


PENDULUMS = {
    "spring pendulum": problems.spring_pendulum,
    "spring double pendulum": problems.spring_double_pendulum,
}
BUSHINGS = {
    "swinging bushing": (problems.swinging_bushing, problems.swinging_bushing_elongated),
    "bushing": (problems.yen_petzold_bushing, problems.yen_petzold_bushing_elongated),
}


@pytest.mark.parametrize("name", PENDULUMS)
def test_other_solvers_get_the_same_springs(name):
    problem = PENDULUMS[name](0.1, 0.05)
    expected = accelerations(problem)
    plain, long = peers.stiff_mechanisms(0.1)[name]
    for mechanism in (plain, long):
        system, start = peers.constrained_system(mechanism), (problem.y0, problem.z0)
        found = _rates(system, *(x[: mechanism.nq] for x in start), None)
        np.testing.assert_allclose(found[: plain.nq], expected[: plain.nq], rtol=1e-9)


@pytest.mark.parametrize("name", BUSHINGS)
def test_other_solvers_get_the_same_bushing(name):
    # Anywhere, not on the constraints: all terms differ from zero.
    rng = np.random.default_rng(0)
    q, v, e, edot = (jnp.asarray(rng.normal(size=n)) for n in (6, 6, 3, 3))
    plain, long = peers.stiff_mechanisms(0.1)[name]
    joined = jnp.append(q, e), jnp.append(v, edot)
    cases = (plain, (q, v), (q, v)), (long, joined, ((q, e), (v, edot)))
    for build, (mechanism, theirs, ours) in zip(BUSHINGS[name], cases, strict=True):
        system, problem = peers.constrained_system(mechanism), build(0.1)
        for a, b in (
            (system.f(0.0, *theirs, None), problem.system.f(0.0, *ours, problem.args)),
            (system.g(0.0, theirs[0], None), problem.system.g(0.0, ours[0], problem.args)),
        ):
            np.testing.assert_allclose(a, ravel_pytree(b)[0], rtol=1e-12, atol=1e-12)
