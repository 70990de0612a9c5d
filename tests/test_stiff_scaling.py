"""Stiff methods take the same steps whatever the units of lengths and of constraints."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import RESULTS
from jaxspark._kkt import invert_definite


def two_rods(t, q, v, args):
    """Unit masses at the ends of two rods in space."""
    return 0.5 * jnp.sum(v**2) - 9.81 * (q[1] + q[4])


def rods(t, q, args):
    """Their lengths, in units of `1 / scale` and of `scale`."""
    second = q[3:] - q[:3]
    return jnp.stack([
        args["scale"] * (jnp.sum(q[:3] ** 2) - 1) / 2,
        (jnp.sum(second**2) - 1) / 2 / args["scale"],
    ])  # fmt: skip


def pendulum(t, q, v, args):
    """A unit mass, with gravity in units of its length."""
    return 0.5 * jnp.sum(v**2) - 9.81 * args["length"] * q[1]


def rod(t, q, args):
    """Its length, whose gradient grows with it."""
    return (jnp.sum(q**2) - args["length"] ** 2)[None] / 2


def solve(system, y, z, args, t1, rtol, atol):
    return jaxspark.solve(
        system, y, z, args, method=jaxspark.GGL(jaxspark.RadauIIA(3)), t1=t1, rtol=rtol, atol=atol,
        first_step=1e-2, max_steps=512, throw=False,
    )  # fmt: skip


def counts(found):
    stats = found.stats
    return int(stats.num_steps), int(stats.num_failed_steps), int(stats.newton_iterations)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_of_constraints(scale):
    system = jaxspark.LagrangianSystem(two_rods, holonomic=rods)
    y, z = jnp.array([1.0, 0, 0, 2, 0, 0]), jnp.array([0.0, 0, 0.5, 0, 0, 1.5])
    plain, scaled = (
        solve(system, y, z, {"scale": jnp.array(k)}, 2.0, 1e-6, 1e-6) for k in (1.0, scale)
    )
    assert scaled.result == RESULTS.successful
    assert counts(scaled) == counts(plain)
    assert np.max(np.abs(scaled.y1 - plain.y1)) <= 1e-12


@pytest.mark.parametrize("dtype, length, rtol", [("float64", 1e5, 1e-6), ("float32", 1e3, 1e-3)])
def test_units_of_length(dtype, length, rtol):
    system = jaxspark.LagrangianSystem(pendulum, holonomic=rod)
    several = []
    for unit in (1.0, length):
        y = jnp.array([unit, 0.0], dtype)
        args = {"length": jnp.array(unit, dtype)}
        several.append(solve(system, y, jnp.zeros_like(y), args, 1.0, rtol, rtol * unit))
    plain, large = several
    assert large.result == RESULTS.successful
    assert counts(large)[:2] == counts(plain)[:2]
    assert abs(counts(large)[2] - counts(plain)[2]) <= 2
    assert np.max(np.abs(large.y1 / length - plain.y1)) <= rtol


def test_inverse_of_a_definite_matrix():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5):
        root = rng.standard_normal((size, size + 2))
        units = 10.0 ** rng.uniform(-6, 6, size)
        matrix = units[:, None] * (root @ root.T) * units[None, :]
        product = (invert_definite(jnp.asarray(matrix)) @ matrix) * units[:, None] / units[None, :]
        assert np.max(np.abs(product - np.eye(size))) <= 1e-12 * np.linalg.cond(root) ** 2
    assert np.all(np.isnan(invert_definite(jnp.ones((2, 2)))))
    assert np.all(np.isnan(invert_definite(jnp.zeros((1, 1)))))
