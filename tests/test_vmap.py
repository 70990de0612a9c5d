"""Batches against loops, time backward, what is saved, and what is traced again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import (
    arrays,
    counted,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_start,
    largest_difference,
    oscillator,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
)
from jaxspark import Gauss, RadauIIA, RESULTS


STEPS = 7


def simulate(y, z, args, h, multipliers=False):
    solution = jaxspark.rollout(
        pendulum(), y, z, args, method=Gauss(2), h=h, num_steps=STEPS, multipliers=multipliers,
        throw=False,
    )  # fmt: skip
    lam = solution.multipliers.lam if multipliers else None
    good = solution.result == RESULTS.successful
    return solution.ts, solution.ys, solution.zs, lam, good


def report(*inputs):
    return simulate(*inputs, multipliers=True)


def batch():
    angles, rates = np.array([0.3, -1.0, 2.5]), np.array([1.0, 0.0, -4.0])
    lengths, h = np.array([0.8, 1.0, 0.5]), np.array([0.1, -0.05, 0.02])
    ys, zs = jax.vmap(pendulum_start)(angles, rates, lengths)
    args = {"m": np.array([1.3, 1.0, 0.1]), "l": lengths, "g": np.array([9.81, 1.6, 3.7])}
    return ys, zs, jax.tree.map(jnp.asarray, args), jnp.asarray(h)


@pytest.fixture(scope="module")
def single():
    return jax.jit(report)


def lane(tree, i):
    return jax.tree.map(lambda x: x[i], tree)


def test_batch_of_everything(single):
    """Over states, args and step sizes, one of them negative, at once."""
    got = jax.jit(jax.vmap(report))(*batch())
    for i in range(3):
        expected = single(*lane(batch(), i))
        assert bool(expected[-1]) and bool(got[-1][i])
        assert largest_difference(lane(got[:3], i), expected[:3]) <= 1e-13
        assert largest_difference(got[3][i], expected[3]) <= 1e-12


@pytest.mark.parametrize("which", ["args", "h"])
def test_batch_of_one_argument(which, single):
    y, z, args, h = lane(batch(), 0)
    if which == "args":
        args = {**args, "g": jnp.asarray([9.81, 1.6, 0.0])}
        axes = (None, None, {"m": None, "l": None, "g": 0}, None)
        lanes = [(y, z, {**args, "g": g}, h) for g in args["g"]]
    else:
        h = jnp.asarray([0.1, -0.02, 0.03])
        axes = (None, None, None, 0)
        lanes = [(y, z, args, one) for one in h]
    got = jax.jit(jax.vmap(simulate, axes))(y, z, args, h)
    for i, inputs in enumerate(lanes):
        assert largest_difference(lane(got[:3], i), single(*inputs)[:3]) <= 1e-13


def test_gradients_in_a_batch():
    def loss(y, z, args, h):
        _, ys, zs, _, _ = simulate(y, z, args, h)
        return jnp.sum(ys[-1] * zs[-2])

    gradient = jax.grad(loss, (0, 1, 2, 3))
    got, one = jax.jit(jax.vmap(gradient))(*batch()), jax.jit(gradient)
    for i in range(3):
        assert largest_difference(lane(got, i), one(*lane(batch(), i))) <= 1e-12


# Time backward.

REVERSIBLE = {
    "pendulum": (pendulum(), *pendulum_start(), PENDULUM_ARGS),
    "knife edge": (knife_edge(), *knife_edge_start(), KNIFE_EDGE_ARGS),
    "oscillator": (oscillator(), *arrays([0.5, -0.3], [0.1, 1.0]), {"k": 3.0}),
}


def there_and_back(name, method):
    system, y, z, args = REVERSIBLE[name]

    @jax.jit
    def run(y, z, t0, h):
        return jaxspark.rollout(
            system, y, z, args, method=method, t0=t0, h=h, num_steps=10, save_every=None
        )

    y, z = arrays(y, z)
    out = run(y, z, jnp.asarray(0.2), jnp.asarray(0.05))
    back = run(out.y1, out.z1, out.t1, jnp.asarray(-0.05))
    assert np.max(np.abs(out.y1 - y)) > 0.1
    assert abs(back.t1 - 0.2) <= 1e-15
    return max(largest_difference(back.y1, y), largest_difference(back.z1, z))


@pytest.mark.parametrize(
    "name, method",
    [("pendulum", Gauss(3)), ("knife edge", Gauss(2)), ("oscillator", Gauss(1))],
    ids=str,
)
def test_symmetric_methods_return(name, method):
    assert there_and_back(name, method) <= 1e-12


def test_others_do_not_return():
    """Which shows that the test above can fail.

    (With a constant mass matrix and a constant force Radau IIA is the same method as Gauss:
    both project the constraint forces onto polynomials of degree `s - 1`.)
    """
    assert there_and_back("oscillator", RadauIIA(2)) > 1e-7
    y, z = pendulum_start()
    ends = [
        jaxspark.rollout(
            pendulum(), y, z, PENDULUM_ARGS, method=method, h=0.1, num_steps=2, save_every=None
        )
        for method in (Gauss(2), RadauIIA(2))
    ]
    assert largest_difference(ends[0].z1, ends[1].z1) <= 1e-14


# What is saved.


@pytest.fixture(scope="module")
def every_row():
    return save(1)


def save(save_every, **options):
    y, z = pendulum_start()
    return jaxspark.rollout(
        pendulum(), y, z, PENDULUM_ARGS, method=Gauss(1), t0=0.5, h=0.1, num_steps=STEPS,
        save_every=save_every, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "save_every, rows",
    [
        (2, [0, 2, 4, 6, 7]),
        (7, [0, 7]),
        (10, [0, 7]),
        (None, [0, 7]),
    ],
)
def test_saved_rows(save_every, rows, every_row):
    solution = save(save_every)
    assert len(solution) == len(rows)
    assert largest_difference(solution.ts, every_row.ts[np.array(rows)]) <= 1e-15
    assert largest_difference(solution.ys, every_row.ys[np.array(rows)]) <= 1e-14
    assert largest_difference(solution.zs, every_row.zs[np.array(rows)]) <= 1e-14
    assert largest_difference(solution.y1, every_row.y1) <= 1e-14
    assert int(solution.stats.num_steps) == STEPS


def test_every_row(every_row):
    assert np.allclose(every_row.ts, 0.5 + 0.1 * np.arange(STEPS + 1), rtol=0, atol=1e-15)
    y, z = pendulum_start()
    assert np.array_equal(every_row.ys[0], y) and np.array_equal(every_row.zs[0], z)
    assert np.array_equal(every_row.ys[-1], every_row.y1)
    assert np.array_equal(every_row.zs[-1], every_row.z1)
    assert float(every_row.ts[-1]) == float(every_row.t1)
    # No two rows are alike.
    assert np.min(np.max(np.abs(np.diff(every_row.ys, axis=0)), 1)) > 1e-3


@pytest.mark.parametrize("save_every", [1, 2])
@pytest.mark.parametrize("checkpoint", ["sqrt", 3])
def test_segments_do_not_change_the_states(checkpoint, save_every, every_row):
    solution = save(save_every, checkpoint=checkpoint)
    rows = np.array({1: range(STEPS + 1), 2: [0, 2, 4, 6, 7]}[save_every])
    assert largest_difference(solution.ys, every_row.ys[rows]) <= 1e-14
    assert largest_difference(solution.ts, every_row.ts[rows]) <= 1e-15


def test_t1_is_t0_plus_all_steps(every_row):
    y, z = pendulum_start()
    solution = jaxspark.rollout(
        pendulum(), y, z, PENDULUM_ARGS, method=Gauss(1), t0=0.5, t1=1.2, num_steps=STEPS
    )
    assert largest_difference(solution.ys, every_row.ys) <= 1e-13


def test_manual_steps_are_those_of_a_rollout(every_row):
    step = jax.jit(
        lambda t, y, z, guess: jaxspark.step(
            pendulum(), Gauss(1), t, y, z, 0.1, guess, PENDULUM_ARGS
        )
    )
    (y, z), guess = pendulum_start(), None
    for i in range(3):
        y, z, guess, info = step(0.5 + 0.1 * i, y, z, guess)
        assert largest_difference(y, every_row.ys[i + 1]) <= 1e-14
        assert largest_difference(z, every_row.zs[i + 1]) <= 1e-14


# Tracing.


def test_new_values_do_not_retrace(every_row):
    """Neither in a user's jit nor in the library's own, for systems built anew."""
    function, traces = counted(simulate)
    y, z, args, h = lane(batch(), 0)
    first = function(y, z, args, h)
    second = function(1.0 * y, -z, {**args, "g": args["g"] + 1}, h / 2)
    assert len(traces) == 1
    assert not np.allclose(first[1], second[1])


def test_calls_without_jit_do_not_retrace():
    traces = []

    def lagrangian(t, q, v, args):
        traces.append(None)
        return 0.5 * jnp.sum(v**2) - args["g"] * q[1]

    def run(gravity, h):
        system = jaxspark.LagrangianSystem(lagrangian, holonomic=pendulum().holonomic)
        y, z = pendulum_start()
        args = {"g": gravity, "l": PENDULUM_ARGS["l"]}
        return jaxspark.rollout(system, y, z, args, method=Gauss(1), h=h, num_steps=2).y1

    first = run(9.81, 0.1)
    count = len(traces)
    second = run(3.7, 0.05)
    assert len(traces) == count > 0
    assert not np.allclose(first, second)
