"""The door: which method is taken, which steps are made, what is saved, what is refused."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import order, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import DOP853, EqualSteps, Gauss, GGL, GivenSteps, Lobatto, RadauIIA, Tsit5
from jaxspark._solve._checks import check_kinds
from jaxspark._solve._default import default_method
from jaxspark._solve._options import Options
from jaxspark._solve._times import check_sizes


START = (*pendulum_start(), PENDULUM_ARGS)
SYSTEM = pendulum()


def swing(method=None, **options):
    return jaxspark.solve(SYSTEM, *START, method=method, **{"t1": 1.0, **options})


def same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def options_of(**given):
    empty = {name: None for name in Options._fields}
    return Options(**{**empty, "dense": False, "multipliers": False, "predict": True, **given})


def with_friction():
    return jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(2), lambda t, q, v, args: -q,
        holonomic=lambda t, q, args: q[:1], friction=lambda t, q, v, lam, args: -0.1 * lam[0] * v,
    )  # fmt: skip


@pytest.mark.parametrize(
    "system, given, expected",
    [
        (SYSTEM, {}, DOP853()),
        (SYSTEM, {"ts": np.zeros(2), "dense": True, "multipliers": True}, DOP853()),
        (SYSTEM, {"events": jaxspark.Event(lambda t, q, v, args: q[0])}, DOP853()),
        (SYSTEM, {"newton": jaxspark.NewtonOptions()}, Gauss(3)),
        (SYSTEM, {"linear_solver": "auto"}, DOP853()),
        (SYSTEM, {"linear_solver": jaxspark.linear.DenseLU()}, Gauss(3)),
        (SYSTEM, {"steps": EqualSteps(3)}, Gauss(2)),
        (SYSTEM, {"steps": GivenSteps(np.arange(3.0))}, Gauss(2)),
        (with_friction(), {}, Lobatto(3)),
        (with_friction(), {"steps": EqualSteps(3)}, Lobatto(3)),
    ],
)
def test_the_method_by_default(system, given, expected):
    assert default_method(system, options_of(**given)).method == expected


def test_explicit_methods_have_solvers_of_blocks():
    many = jaxspark.MultibodySystem(
        mass=lambda t, y, own, args: jnp.ones(3), force=lambda t, y, z, own, args: 0 * z, joints=[]
    )
    assert default_method(many, options_of()).method is DOP853()
    blocks = options_of(linear_solver=jaxspark.linear.AcyclicNullSpace())
    assert default_method(many, blocks).method is DOP853()


def test_it_is_the_method_that_is_run():
    same(swing().ys, swing(DOP853()).ys)
    by_steps = EqualSteps(20)
    same(swing(steps=by_steps).ys, swing(Gauss(2), steps=by_steps).ys)


@pytest.mark.parametrize("method", [None, DOP853(), Tsit5()], ids=["None", "8", "5"])
def test_equal_steps(method):
    solution = swing(method, steps=EqualSteps(16), save_every=1)
    np.testing.assert_allclose(solution.ts, np.linspace(0.0, 1.0, 17), rtol=0, atol=1e-15)
    assert int(solution.stats.num_steps) == 16 and int(solution.stats.num_rejected_steps) == 0
    assert float(solution.stats.max_g) <= 1e-15
    back = jaxspark.solve(
        SYSTEM, solution.y1, solution.z1, PENDULUM_ARGS, method=method, t0=1.0,
        steps=EqualSteps(16, -1 / 16),
    )  # fmt: skip
    assert float(back.t1) == 0.0
    np.testing.assert_allclose(back.y1, START[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "method, expected, numbers", [(DOP853(), 8, [4, 6, 8]), (Tsit5(), 5, [27, 40, 60])]
)
def test_equal_steps_of_explicit_methods_have_their_order(method, expected, numbers):
    numbers = np.array(numbers)
    exact = swing(Gauss(5), rtol=1e-13).y1
    ends = [swing(method, steps=EqualSteps(int(n))).y1 for n in numbers]
    errors = [float(np.max(np.abs(end - exact))) for end in ends]
    assert abs(order(1 / numbers, errors) - expected) <= 0.5


def driven(times, method=DOP853(), **options):
    """A pendulum driven in time, along four equal steps; all that is saved at given times."""
    t0, t1, ts = times
    system = pendulum(lambda t, q, v, args: jnp.stack([jnp.sin(3 * t), 0 * t]) - 0.1 * v)
    return jaxspark.solve(
        system, *START, method=method, t0=t0, t1=t1, steps=EqualSteps(4), **options
    )


@pytest.mark.parametrize("saved", ["end", "steps", "times"])
def test_equal_steps_have_derivatives_by_their_times(saved):
    """Forward, reverse and by differences, of every row: all sizes move with both ends."""
    x = jnp.array([0.1, 1.3, 0.75])

    def rows(x):
        options = {"save_every": 1} if saved == "steps" else {}
        options = {"ts": x[2:]} if saved == "times" else options
        found = driven((x[0], x[1], x[2:]), throw=False, **options)
        return jnp.concatenate([found.ts, found.ys.ravel(), found.zs.ravel(), found.t1[None]])

    value, d = jax.jit(rows), 1e-4
    halves = [
        np.stack([(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(3)], -1)
        for h in (d, d / 2)
    ]
    forward, reverse = jax.jit(jax.jacfwd(rows))(x), jax.jit(jax.jacrev(rows))(x)
    np.testing.assert_allclose(forward, reverse, rtol=0, atol=1e-13)
    np.testing.assert_allclose(forward, (4 * halves[1] - halves[0]) / 3, rtol=0, atol=1e-8)


def test_equal_steps_have_second_derivatives_by_their_times():
    def end(x):
        return jnp.sum(driven((x[0], x[1], None), throw=False).y1 ** 2)

    x, d = jnp.array([0.1, 1.3]), 1e-4
    slope = jax.jit(jax.grad(end))
    exact = np.stack([(slope(x + d * e) - slope(x - d * e)) / (2 * d) for e in np.eye(2)], -1)
    np.testing.assert_allclose(jax.jit(jax.hessian(end))(x), exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", [50, 3000, 10_000])
def test_as_many_equal_steps_as_asked_for(number, dtype):
    y0, z0 = (x.astype(dtype) for x in START[:2])
    heun = jaxspark.methods.ExplicitMethod("Heun", 2, [[1.0]], [0.5, 0.5], [0.5, -0.5])
    end = jaxspark.solve(
        SYSTEM, y0, z0, PENDULUM_ARGS, method=heun, t1=1.0, steps=EqualSteps(number),
        consistency_tol=1e-3,
    )  # fmt: skip
    assert int(end.stats.num_steps) == number and float(end.t1) == 1.0


def test_equal_steps_end_where_one_fails():
    falls = pendulum(lambda t, q, v, args: -jnp.sqrt(0.5 - t) * v)
    for method in (DOP853(), Gauss(2)):
        end = jaxspark.solve(
            falls, *START, method=method, t1=1.0, steps=EqualSteps(8), save_every=1, throw=False
        )
        assert bool(end.result == jaxspark.RESULTS.nonfinite)
        assert int(end.stats.num_steps) in (3, 4) and float(end.t1) <= 0.5
        np.testing.assert_allclose(np.diff(end.ts[:4]), 0.125, rtol=0, atol=1e-15)


def test_no_steps():
    for method in (None, DOP853(), Gauss(2)):
        still = swing(method, t1=None, t0=2.0, steps=EqualSteps(0, 0.1))
        np.testing.assert_array_equal(still.ts, [2.0])
        assert float(still.t1) == 2.0 and bool(still.successful)


@pytest.mark.parametrize("method", [DOP853(), Gauss(2)], ids=["explicit", "implicit"])
def test_every_third_step(method):
    every = swing(method, save_every=1, max_steps=80)
    third = swing(method, save_every=3, max_steps=80)
    assert every.ts.shape == (81,) and third.ts.shape == (28,)
    rows = np.append(np.arange(0, 80, 3), 80)
    same((third.ts, third.ys, third.zs), [x[rows] for x in (every.ts, every.ys, every.zs)])


def test_rollout_is_solve_with_equal_steps():
    short = jaxspark.rollout(SYSTEM, *START, method=Lobatto(3), h=0.05, num_steps=20)
    same(short, swing(Lobatto(3), t1=None, steps=EqualSteps(20, 0.05), save_every=1))
    ts = np.linspace(0.0, 1.0, 21)
    short = jaxspark.rollout(SYSTEM, *START, method=Lobatto(3), ts=ts, save_every=None)
    same(short, swing(Lobatto(3), t1=None, steps=GivenSteps(ts)))


@pytest.mark.parametrize(
    "method, given, words",
    [
        (Gauss(2), {"steps": EqualSteps(3), "rtol": 1e-3, "dense": True}, "rtol, dense=True"),
        (Gauss(2), {"steps": EqualSteps(3, 0.1)}, "either the final time t1 or the step size"),
        (Gauss(2), {"steps": EqualSteps(3), "t1": None}, "either the final time t1"),
        (Gauss(2), {"steps": GivenSteps(np.arange(3.0))}, "leave out t1"),
        (Gauss(2), {"steps": GivenSteps(np.arange(3.0)), "t0": 0.0}, "leave out t0, t1"),
        (DOP853(), {"steps": 100}, "EqualSteps"),
        (np.ones(2), {}, "method"),
        (diffrax.Kvaerno5(), {}, "method"),
        (Gauss(2), {"t1": None}, "final time t1"),
        (Gauss(2), {"checkpoint": "sqrt"}, "checkpoint is for"),
        (Gauss(2), {"save_every": 0}, "save_every must be"),
        (Gauss(2), {"steps": 0.1}, "EqualSteps"),
        (DOP853(), {"steps": EqualSteps(3), "atol": 1e-3}, "Equal steps have no atol"),
        (DOP853(), {"steps": EqualSteps(3), "t1": 0.0}, "time cannot advance"),
        (
            DOP853(),
            {"steps": GivenSteps(np.arange(3.0)), "t1": None},
            "other than EqualSteps",
        ),
        (DOP853(), {"checkpoint": "sqrt", "predict": False}, "not for checkpoint, predict=False"),
        (DOP853(), {"linear_solver": jaxspark.linear.DenseLU()}, "not for linear_solver=DenseLU"),
        (DOP853(), {"linear_solver": jaxspark.linear.AcyclicNullSpace()}, "blocks"),
        (GGL(RadauIIA(2)), {"steps": GivenSteps(np.arange(3.0)), "t1": None}, "EqualSteps"),
        (Gauss(2), {"steps": diffrax.StepTo(np.arange(3.0))}, "DiffraxSolver|steps"),
        (jaxspark.Composition(Lobatto(2), 4), {}, "EqualSteps"),
        ("Gauss", {}, "method"),
    ],
)
def test_refused(method, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        swing(method, **given)


def test_numbers_of_steps_are_integers():
    for number in (2.0, True, -1):
        with pytest.raises(ValueError, match="number must be a Python integer"):
            EqualSteps(number)


def test_solutions_of_two_methods_have_one_structure():
    a, b = swing(DOP853()), swing()
    assert a.method != b.method
    difference = jax.tree.map(jnp.subtract, a.ys, b.ys)
    assert jax.tree.structure(a) == jax.tree.structure(b) and not np.any(difference)


def test_what_is_no_system():
    with pytest.raises(TypeError, match="system"):
        jaxspark.solve(lambda t: 0, *START, t1=1.0)  # pyright: ignore
    with pytest.raises(TypeError, match="method=Gauss"):
        jaxspark.solve(SYSTEM, Gauss(3), *START[:2], t1=1.0)  # pyright: ignore
    with pytest.raises(TypeError, match="use jaxspark.solve"):
        jaxspark.rollout(SYSTEM, *START, num_steps=3, h=0.1, steps=EqualSteps(3))


@pytest.mark.parametrize(
    "method, words", [(diffrax.Tsit5(), "of the type diffrax"), (DOP853, "called, or")]
)
def test_what_is_no_method_is_told_by_its_type(method, words):
    with pytest.raises(TypeError, match=words):
        check_kinds(SYSTEM, START[0], method, None)


def test_sizes_of_steps_are_numbers():
    for size in ("a", -1.0, np.ones(2)):
        with pytest.raises(ValueError, match="first_step must be a positive number"):
            check_sizes(size, None)
