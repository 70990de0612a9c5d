"""The door: which method is taken, which steps are made, what is saved, what is refused."""

import re

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import order, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import DOP853, EqualSteps, Gauss, GGL, GivenSteps, Lobatto, RadauIIA
from jaxspark._solve._default import default_method
from jaxspark._solve._options import Options


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
        (SYSTEM, {"events": jaxspark.Event(lambda t, q, v, args: q[0])}, Gauss(3)),
        (SYSTEM, {"newton": jaxspark.NewtonOptions()}, Gauss(3)),
        (SYSTEM, {"linear_solver": "auto"}, Gauss(3)),
        (SYSTEM, {"adjoint": diffrax.RecursiveCheckpointAdjoint()}, Gauss(3)),
        (SYSTEM, {"steps": diffrax.ConstantStepSize()}, Gauss(3)),
        (SYSTEM, {"steps": EqualSteps(3)}, Gauss(2)),
        (SYSTEM, {"steps": GivenSteps(np.arange(3.0))}, Gauss(2)),
        (with_friction(), {}, Lobatto(3)),
        (with_friction(), {"steps": EqualSteps(3)}, Lobatto(3)),
    ],
)
def test_the_method_by_default(system, given, expected):
    assert default_method(system, START[1], options_of(**given)) == expected


def test_many_blocks_are_for_implicit_methods():
    many = jaxspark.MultibodySystem(
        mass=lambda t, y, own, args: jnp.ones(3), force=lambda t, y, z, own, args: 0 * z, joints=[]
    )
    assert default_method(many, np.zeros((10, 3)), options_of()) == DOP853()
    assert default_method(many, np.zeros((30, 3)), options_of()) == Gauss(3)


def test_it_is_the_method_that_is_run():
    same(swing().ys, swing(DOP853()).ys)
    by_steps = EqualSteps(20)
    same(swing(steps=by_steps).ys, swing(Gauss(2), steps=by_steps).ys)


@pytest.mark.parametrize("method", [None, DOP853(), diffrax.Tsit5()], ids=["None", "8", "5"])
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
    "method, expected, numbers", [(DOP853(), 8, [4, 6, 8]), (diffrax.Tsit5(), 5, [27, 40, 60])]
)
def test_equal_steps_of_explicit_methods_have_their_order(method, expected, numbers):
    numbers = np.array(numbers)
    exact = swing(Gauss(5), rtol=1e-13).y1
    ends = [swing(method, steps=EqualSteps(int(n))).y1 for n in numbers]
    errors = [float(np.max(np.abs(end - exact))) for end in ends]
    assert abs(order(1 / numbers, errors) - expected) <= 0.5


def test_equal_steps_have_a_derivative_by_their_size():
    def end(h):
        return jaxspark.solve(SYSTEM, *START, method=DOP853(), steps=EqualSteps(5, h)).y1[0]

    d = 1e-4
    exact = (end(0.1 + d) - end(0.1 - d)) / (2 * d)
    assert float(jax.grad(end)(0.1)) == pytest.approx(float(exact), rel=1e-6)
    assert float(jax.jacfwd(end)(0.1)) == pytest.approx(float(jax.grad(end)(0.1)), rel=1e-12)


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
        (Gauss(2), {"t1": None}, "final time t1"),
        (Gauss(2), {"checkpoint": "sqrt"}, "checkpoint is for"),
        (Gauss(2), {"save_every": 0}, "save_every must be"),
        (Gauss(2), {"steps": 0.1}, "EqualSteps"),
        (DOP853(), {"steps": EqualSteps(3), "atol": 1e-3}, "Equal steps have no atol"),
        (DOP853(), {"steps": EqualSteps(0)}, "number must be"),
        (DOP853(), {"steps": EqualSteps(3), "t1": 0.0}, "time cannot advance"),
        (DOP853(), {"steps": GivenSteps(np.arange(3.0)), "t1": None}, "no steps but EqualSteps"),
        (DOP853(), {"checkpoint": "sqrt", "predict": False}, "no checkpoint, predict=False"),
        (GGL(RadauIIA(2)), {"steps": EqualSteps(3)}, "StepTo"),
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


def spring(stiffness, t1=10.0):
    """A mass on a spring and a damper, that falls."""
    system = jaxspark.MechanicalSystem(
        lambda t, q, k: jnp.eye(2),
        lambda t, q, v, k: jnp.array([0.0, -9.81]) - k * q * (1 - 1 / jnp.linalg.norm(q))
        - 0.5 * jnp.sqrt(k) * v,
    )  # fmt: skip
    start = jnp.array([0.6, -0.8]), jnp.zeros(2), stiffness
    return jaxspark.solve(system, *start, t1=t1, method="auto")


def test_auto_tells_stiff_from_long():
    assert re.fullmatch(r"DOP853\(\): \d+ steps reach the end", swing("auto").method)
    assert "limited by accuracy" in swing("auto", t1=100.0).method
    found = spring(1e8)
    assert found.method.startswith("GGL(method=RadauIIA(stages=3)")
    assert "limits explicit steps" in found.method and bool(found.successful)
    # The rate is that of the spring, to a few per cent.
    rate = float(found.method.split("rate of ")[1].split()[0])
    assert rate == pytest.approx(1e4, rel=0.1)
    # Stiff, but not for long.
    assert "not too many" in spring(1e8, 0.5).method


def test_auto_tells_what_leaves_no_choice():
    start = jnp.array([0.0, 1.0]), jnp.array([0.0, 0.3])
    found = jaxspark.solve(with_friction(), *start, t1=0.1, method="auto")
    assert found.method == "Lobatto(stages=3): explicit methods are for ideal constraint forces"
    found = swing("auto", newton=jaxspark.NewtonOptions(), t1=0.1)
    assert found.method == "Gauss(stages=3): explicit methods have no newton"
    assert "steps are not chosen" in swing("auto", steps=EqualSteps(2)).method
    with pytest.raises(ValueError, match="before anything is compiled"):
        jax.jit(lambda t1: swing("auto", t1=t1).y1)(1.0)


def test_explanations():
    words = swing(Gauss(2), rtol=1e-4).explain()
    assert words.startswith("Method: Gauss(stages=2).\nEnded at 1; successful: 1.\n")
    assert "Method: DOP853(): the default." in swing().explain()
    short = swing(max_steps=3, throw=False).explain()
    assert "successful: 0." in short and "Reason: max_steps" in short
    lanes = jax.vmap(lambda t1: swing(t1=t1, throw=False))(jnp.array([1.0, 2.0])).explain()
    assert "Ended at 1 to 2; successful: 2 of 2." in lanes
    with pytest.raises(ValueError, match="outside of jax.jit"):
        jax.jit(lambda t1: swing(t1=t1, throw=False).explain())(1.0)
