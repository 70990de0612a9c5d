"""Stiff methods driven like the others: counts, saving, events, failures, derivatives."""

import functools

import jax
import jax.export
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from helpers import thorough
from jaxspark import GGL, Lobatto, RadauIIA, RESULTS
from jaxspark._stiff import ggl_coefficients, GGLStages
from jaxspark._stiff._linear import reduced_solve, stage_blocks
from jaxspark._stiff._residual import stage_equations
from jaxspark._system import flatten


IIIC = Lobatto(3, "C", "C", "C")
STIFFNESSES = jnp.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])


def start_of(problem):
    return jnp.asarray(problem.y0), jnp.asarray(problem.z0)


def run(problem, method, y0, z0, args, tolerance, **options):
    options = {"first_step": 1e-2, **options}
    return jaxspark.solve(
        problem.system, y0, z0, args, method=GGL(method, error_norm="slow motion"),
        t1=problem.t_end, rtol=tolerance, max_steps=512, throw=False, **options,
    )  # fmt: skip


@functools.cache
def limit(make):
    """The end of the rigid mechanism, by another method."""
    rigid = make()
    end = jaxspark.solve(
        rigid.system,
        *start_of(rigid),
        rigid.args,
        method=jaxspark.Gauss(4),
        t1=rigid.t_end,
        rtol=1e-11,
    )
    return np.asarray(end.y1)


PAIRS = {
    "spring": (problems.spring_pendulum, problems.rigid_pendulum),
    "double": (problems.spring_double_pendulum, problems.rigid_double_pendulum),
}

# Steps, iterations and error at tolerances 1e-3 and 1e-5, from an independent implementation,
# with springs that start on the slow motion.
EXPECTED = [
    ("spring", RadauIIA(2), (10, 33, 4e-4), (32, 99, 7e-6)),
    ("spring", RadauIIA(3), (7, 27, 3e-5), (14, 51, 2e-6)),
    thorough("spring", IIIC, (9, 26, 2e-4), (20, 61, 3e-6)),
    # 29 without those of the steps that are rejected, which count since.
    thorough("double", RadauIIA(2), (9, 30, 9e-4), (25, 81, 1e-5)),
    ("double", RadauIIA(3), (6, 20, 2e-4), (12, 41, 2e-6)),
    ("double", IIIC, (8, 23, 2e-4), (17, 51, 2e-6)),
]


@pytest.mark.parametrize("name, method, loose, tight", EXPECTED)
def test_a_batch_over_six_decades(name, method, loose, tight):
    """One program for all stiffnesses, tolerances and starts; single runs count the same."""
    make, rigid = PAIRS[name]
    slow = limit(rigid)
    system = make()

    @jax.jit
    def batch(eps, y0, tolerance):
        def one(eps, y0):
            return run(system, method, y0, jnp.zeros_like(y0), {"eps": eps}, tolerance)

        return jax.vmap(one)(eps, y0)

    for tolerance, (steps, iterations, error) in zip((1e-3, 1e-5), (loose, tight), strict=True):
        starts = jnp.stack([jnp.asarray(make(float(eps)).y0) for eps in STIFFNESSES])
        all_lanes = batch(STIFFNESSES, starts, tolerance)
        stats, ends = jax.tree.map(np.asarray, (all_lanes.stats, all_lanes.y1))
        assert np.all(np.asarray(all_lanes.result == RESULTS.successful))
        assert np.all(np.asarray(stats.num_failed_steps) == 0)
        assert np.ptp(stats.num_steps) <= 1
        assert np.max(stats.num_steps) <= 1.25 * steps
        assert np.max(stats.newton_iterations) <= iterations
        assert np.max(np.abs(ends[:, : slow.size] - slow)) <= 2 * error
        assert np.max(stats.max_g) <= 1e-14
        if method.tableau.stages == 3:
            continue
        for lane in (0, 5):
            alone = batch(STIFFNESSES[lane : lane + 1], starts[lane : lane + 1], tolerance)
            assert int(alone.stats.num_steps[0]) == int(stats.num_steps[lane])
            assert np.max(np.abs(alone.y1[0] - ends[lane])) <= 1e-12


# The most steps with springs off by a tenth of the tolerance, as above.
DISPLACED = {2: (14, 36), 3: (12, 18)}


@pytest.mark.parametrize("stages", [2, 3])
def test_springs_displaced_by_less_than_the_tolerance(stages):
    slow = limit(problems.rigid_pendulum)
    for tolerance, most in zip((1e-3, 1e-5), DISPLACED[stages], strict=True):
        for eps in (1e-3, 1e-8):
            problem = problems.spring_pendulum(eps, 0.1 * tolerance)
            method = RadauIIA(stages)
            found = run(problem, method, *start_of(problem), {"eps": jnp.array(eps)}, tolerance)
            assert int(found.stats.num_failed_steps) == 0
            assert int(found.stats.num_steps) <= most
            assert np.max(np.abs(np.asarray(found.y1)[:2] - slow)) <= 2 * tolerance


def test_velocities_count_unless_the_motion_is_to_be_slow():
    """A force that jumps: velocities as accurate as coordinates, or to the root of the tolerance.

    A mass of 1 kg at rest, on which 3 N act from `at` to the end.
    """
    at, tolerance = 0.437, 1e-8
    system = jaxspark.ConstrainedSystem(lambda t, y, z, at: jnp.where(t < at, 0.0, 3.0)[None])
    start = jnp.zeros(1), jnp.zeros(1)

    def worst(norm):
        found = jaxspark.solve(
            system, *start, at, method=GGL(RadauIIA(3), error_norm=norm), t1=1.0, rtol=tolerance,
            max_step=0.1,
        )  # fmt: skip
        off = found.y1[0] - 1.5 * (1 - at) ** 2, found.z1[0] - 3 * (1 - at)
        return max(abs(float(x)) for x in off)

    assert worst("positions and velocities") <= 10 * tolerance
    assert worst("slow motion") >= 300 * tolerance


def test_a_bump_in_a_motion_that_is_quiet_is_not_missed():
    """A pulse `cos^4` of 1.6 s, in ten seconds at rest: its integral is 3/8 of its length."""

    def pulse(t, y, z, args):
        x = (t - 7.7) / 1.6
        return jnp.where(jnp.abs(x) < 0.5, jnp.cos(jnp.pi * x) ** 4, 0.0)[None]

    system, start = jaxspark.ConstrainedSystem(pulse), (jnp.zeros(1), jnp.zeros(1))
    found = jaxspark.solve(system, *start, None, method=GGL(RadauIIA(3)), t1=10.0, rtol=1e-6)
    assert abs(float(found.z1[0]) - 0.6) <= 1e-5


def test_no_false_convergence():
    """A displacement of `1e-6` at a stiffness of `1e16` is a force of `1e10`."""
    problem = problems.spring_pendulum(1e-8, 1e-6)
    found = run(problem, RadauIIA(3), *start_of(problem), problem.args, 1e-5)
    assert np.max(np.abs(np.asarray(found.y1)[:2] - limit(problems.rigid_pendulum))) <= 1e-6
    assert int(found.stats.num_failed_steps) == 0


# Steps from an independent implementation, with the error on positions alone.
ON_POSITIONS = [
    (problems.yen_petzold_spring(1e-4), 1e-4, {2: (480, 72), 3: (199, 30)}),
    (problems.yen_petzold_linear("C", 1e-6), 1e-3, {2: (8, 3), 3: (11, 3)}),
]


@pytest.mark.parametrize("problem, tolerance, expected", ON_POSITIONS)
def test_oscillations_that_are_to_be_resolved(problem, tolerance, expected):
    for stages, (steps, within) in expected.items():
        found = jaxspark.solve(
            problem.system, *start_of(problem),
            problem.args, method=GGL(RadauIIA(stages), error_norm="positions"), t1=problem.t_end,
            rtol=tolerance, first_step=1e-3 * problem.t_end,
        )  # fmt: skip
        assert int(found.stats.num_failed_steps) == 0
        assert abs(int(found.stats.num_steps) - steps) <= within


def test_saved_rows_dense_output_and_events():
    """Against a method without damping, where the spring is soft enough for it."""
    problem = problems.spring_pendulum(0.05)
    times = jnp.linspace(0.0, 2.0, 9)
    events = jaxspark.Event(lambda t, y, z, args: y[0], direction=False)
    options = dict(t1=2.0, ts=times, multipliers=True, dense=True, max_steps=2048)
    both = [
        jaxspark.solve(
            problem.system, *start_of(problem), problem.args, method=method, rtol=rtol,
            events=events,
            **options,
        )
        for method, rtol in ((GGL(RadauIIA(3)), 1e-9), (jaxspark.Gauss(3), 1e-11))
    ]  # fmt: skip
    ours, exact = both
    assert abs(float(ours.t1 - exact.t1)) <= 1e-7 and float(ours.t1) < 2.0
    assert abs(float(ours.y1[0])) <= 1e-12
    assert np.max(np.abs(ours.ys - exact.ys)) <= 1e-7
    assert np.max(np.abs(ours.zs - exact.zs)) <= 1e-6
    tension = np.abs(ours.multipliers.lam - exact.multipliers.lam)
    assert np.max(tension) <= 1e-4 * np.max(np.abs(exact.multipliers.lam))
    y, _ = ours.evaluate(0.7 * ours.t1)
    assert np.max(np.abs(y - exact.evaluate(0.7 * ours.t1)[0])) <= 1e-7
    residual = jaxspark.diagnostics.constraint_residuals(problem.system, 0.0, y, y, problem.args)
    assert np.max(np.abs(residual.g)) <= 1e-14


def test_a_lane_that_fails_does_no_harm():
    problem = problems.spring_pendulum(1e-4)
    y0, z0 = start_of(problem)
    eps = jnp.array([1e-4, jnp.nan, 1e-4])
    batch = jax.vmap(lambda eps: run(problem, RadauIIA(2), y0, z0, {"eps": eps}, 1e-4))(eps)
    good = np.asarray(batch.result == RESULTS.successful)
    assert list(good) == [True, False, True]
    assert np.array_equal(batch.y1[0], batch.y1[2])
    assert np.array_equal(batch.y1[1], problem.y0)


def test_single_precision():
    problem = problems.spring_double_pendulum(1e-3)
    y0, z0 = (x.astype(jnp.float32) for x in start_of(problem))
    eps = jnp.float32(1e-3)
    found = jaxspark.solve(problem.system, y0, z0, {"eps": eps}, method=GGL(RadauIIA(2)), t1=2.0)
    assert found.y1.dtype == jnp.float32
    slow = limit(problems.rigid_double_pendulum)
    assert np.max(np.abs(np.asarray(found.y1)[:4] - slow)) <= 2e-3


BAD = [
    (lambda: GGL(2), TypeError, "method"),
    (lambda: GGL(jaxspark.Gauss(2)), ValueError, "does not damp"),
    (lambda: GGL(RadauIIA(2), newton="exact"), ValueError, "g0"),
    (lambda: GGL(RadauIIA(2), error_norm="all"), ValueError, "positions"),
    (lambda: jaxspark.stiff.Elongated(None, lambda t, y, args: y, 1.0), TypeError, "system"),
]


@pytest.mark.parametrize("make, kind, words", BAD)
def test_bad_input(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_options_of_other_methods_are_refused():
    problem = problems.spring_pendulum()
    with pytest.raises(ValueError, match="Newton iteration of its own"):
        jaxspark.solve(
            problem.system, *start_of(problem), problem.args, method=GGL(RadauIIA(2)), t1=1.0,
            newton=jaxspark.NewtonOptions(),
        )  # fmt: skip
    with pytest.raises(TypeError, match="method"):
        jaxspark.rollout(
            problem.system, *start_of(problem), problem.args, method=GGL(RadauIIA(2)), t1=1.0,
            num_steps=3,
        )  # fmt: skip


def test_lowers_for_three_platforms():
    problem = problems.spring_pendulum(1e-4)
    y0, z0 = start_of(problem)

    def value(eps):
        # A given first step would put a check of diffrax into the program, a host callback.
        end = jaxspark.solve(
            problem.system, y0, z0, {"eps": eps}, method=GGL(RadauIIA(2)), t1=2.0, rtol=1e-3,
            max_steps=64, throw=False,
        )  # fmt: skip
        return jnp.sum(end.y1[:2])

    platforms = ("cpu", "cuda", "tpu")
    exported = jax.export.export(jax.jit(jax.value_and_grad(value)), platforms=platforms)(1e-4)
    assert exported.platforms == platforms
    value, gradient = exported.call(1e-4)
    assert np.isfinite(value) and np.isfinite(gradient)


@pytest.mark.parametrize(
    "problem",
    [
        problems.mixed(),
        thorough(problems.heavy_top()),
        thorough(problems.swinging_bushing_elongated(1e-2)),
    ],
    ids=["mixed", "heavy top", "bushing"],
)
def test_reduced_systems_are_newtons(problem):
    """The solution of the reduced system is that of the whole, multipliers included."""
    t, h = jnp.asarray(0.1), jnp.asarray(0.05)
    y, z, args = jax.tree.map(jnp.asarray, (problem.y0, problem.z0, problem.args))
    flat, y, z = flatten(problem.system, t, y, z, args)
    coefficients = ggl_coefficients(RadauIIA(3).tableau)
    rng = np.random.default_rng(0)

    def near(x, size):
        return jnp.asarray(np.asarray(x)[None] + size * rng.standard_normal((3, x.size)))

    lam, psi = jnp.zeros(flat.nlam), jnp.zeros(flat.npsi)
    at = GGLStages(near(y, 0.1), near(z, 0.1), near(lam, 1.0), near(psi, 1.0), near(lam, 0.01))
    vector, unravel = jax.flatten_util.ravel_pytree(at)

    def residual(x):
        stages = stage_equations(flat, coefficients, t, y, z, h, unravel(x))
        return jax.flatten_util.ravel_pytree(stages)[0]

    r = residual(vector)
    expected = np.linalg.solve(jax.jacfwd(residual)(vector), r)
    blocks = stage_blocks(flat, coefficients, t, h, at)
    found = reduced_solve(flat, coefficients, h, blocks, unravel(r))
    found = jax.flatten_util.ravel_pytree(found)[0]
    assert np.max(np.abs(found - expected)) <= 1e-12 * np.max(np.abs(expected))
