"""Static misuse; integers and single precision, where they are welcome."""

import jax
import numpy as np
import pytest

import jaxspark
from failing import ARGS, METHOD, START, SYSTEM
from helpers import oscillator, pendulum, PENDULUM_ARGS
from jaxspark import Gauss
from jaxspark._jax_internals import mix


# Static misuse. (With jaxtyping's checks on, some of it is a TypeError already.)


def test_shapes_are_checked_while_tests_run():
    with pytest.raises(TypeError, match="Type-check error"):
        mix(np.eye(2), np.ones(2))


def test_wrong_method():
    with pytest.raises(TypeError, match="method"):
        jaxspark.rollout(SYSTEM, *START, ARGS, method="Gauss(2)", h=0.1, num_steps=1)
    with pytest.raises(TypeError, match="method"):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=Gauss, h=0.1, num_steps=1)


@pytest.mark.parametrize(
    "option, value",
    [
        ("num_steps", -1), ("num_steps", 2.0), ("num_steps", True), ("num_steps", None),
        ("save_every", 0), ("save_every", -2), ("save_every", 1.0), ("save_every", True),
        ("checkpoint", "all"), ("checkpoint", 0), ("checkpoint", -1), ("checkpoint", True),
        ("checkpoint", 2.5),
        ("consistency_tol", -1.0), ("consistency_tol", np.nan), ("consistency_tol", "none"),
        ("newton", {"rtol": 1e-9}),
    ],
)  # fmt: skip
def test_wrong_options(option, value):
    options = {"num_steps": 3, "h": 0.1, option: value}
    with pytest.raises((ValueError, TypeError), match=option):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=METHOD, **options)


def test_numpy_integers_are_integers():
    solution = jaxspark.rollout(
        SYSTEM, *START, ARGS, method=METHOD, h=0.1, num_steps=np.int64(2), save_every=np.int32(2),
        checkpoint=np.int64(1),
    )  # fmt: skip
    assert solution.ts.shape == (2,)


@pytest.mark.parametrize("y, z", [([0, 1], [0.1, 0.0]), ([0.0, 1.0], [1, 0])])
def test_integer_states(y, z):
    with pytest.raises(TypeError, match="dtype int"):
        jaxspark.rollout(SYSTEM, np.array(y), np.array(z), ARGS, method=METHOD, h=0.1, num_steps=1)


def test_integer_times_and_args():
    """Python and NumPy integers are numbers like any other."""
    system, args = oscillator(), {"k": 2.0}
    expected = jaxspark.rollout(
        system, *START, args, method=METHOD, t0=0.0, t1=2.0, num_steps=4, save_every=None
    )
    for t1 in (2, np.int64(2)):
        solution = jaxspark.rollout(
            system, *START, args, method=METHOD, t0=0, t1=t1, num_steps=4, save_every=None
        )
        assert np.array_equal(solution.y1, expected.y1)


# Single precision.


def test_single_precision():
    y, z = (np.asarray(x, np.float32) for x in START)
    solution = jaxspark.rollout(
        pendulum(), y, z, PENDULUM_ARGS, method=Gauss(2), h=0.05, num_steps=20, multipliers=True
    )
    for leaf in jax.tree.leaves(solution):
        leaf = np.asarray(leaf)
        if np.issubdtype(leaf.dtype, np.floating):
            assert leaf.dtype == np.float32
    # A few units in the last place of l^2 / 2, and of |y| |z| with |z| up to 3.
    assert float(solution.stats.max_g) <= 4e-7
    assert float(solution.stats.max_gdot) <= 4e-6
    double = jaxspark.rollout(
        pendulum(), *START, PENDULUM_ARGS, method=Gauss(2), h=0.05, num_steps=20
    )
    assert np.max(np.abs(np.asarray(solution.ys) - np.asarray(double.ys))) <= 1e-5
    assert np.max(np.abs(np.asarray(solution.zs) - np.asarray(double.zs))) <= 1e-4
