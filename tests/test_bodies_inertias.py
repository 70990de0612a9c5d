"""Inertias from free numbers: any vector is a body, and every body with a volume is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from helpers import thorough
from jaxspark import fit, multibody as mb
from mechanisms_of_bodies import rod


def test_any_numbers_are_a_body_and_back():
    u = 3 * jax.random.normal(jax.random.key(0), (4, 5, 10))
    bodies = jax.jit(mb.from_log_cholesky)(u)
    assert bodies["com"].shape == (4, 5, 3) and np.all(bodies["mass"] > 0)
    moments = np.linalg.eigvalsh(bodies["inertia"])
    assert np.all(moments[..., 0] > 0)
    assert np.all(moments[..., 2] <= (moments[..., 0] + moments[..., 1]) * (1 + 1e-12))
    small = u / 3
    again = mb.log_cholesky(**mb.from_log_cholesky(small))
    assert np.max(np.abs(again - small)) <= 1e-11
    one = mb.from_log_cholesky(u[1, 2])
    assert all(np.array_equal(one[key], bodies[key][1, 2]) for key in one)


def test_a_box():
    """Of 2 kg and edges .3, .2 and .1 m: its second moments are its mass by edges squared / 12."""
    edges, mass, com = np.array([0.3, 0.2, 0.1]), 2.0, (0.1, 0.0, -0.2)
    second = mass / 12 * np.diag(edges**2)
    u = mb.log_cholesky(mass, com, np.trace(second) * np.eye(3) - second)
    half = [np.log(mass) / 2, *com]
    expected = [*half, np.log(edges[0] ** 2 / 12) / 2, 0, 0, np.log(edges[1] ** 2 / 12) / 2, 0,
                np.log(edges[2] ** 2 / 12) / 2]  # fmt: skip
    assert np.max(np.abs(u - np.array(expected))) <= 1e-14


def test_derivatives():
    u = jax.random.normal(jax.random.key(1), (10,))
    both = lambda u: mb.log_cholesky(**mb.from_log_cholesky(u))
    for slope in (jax.jit(jax.jacfwd(both)), jax.jit(jax.jacrev(both))):
        assert np.max(np.abs(slope(u) - np.eye(10))) <= 1e-12
    single = mb.from_log_cholesky(u.astype(jnp.float32))
    assert single["inertia"].dtype == jnp.float32


def test_bodies_of_fit_are_parameters():
    """Of a mechanism with a `fit.RigidBody` in place of a dictionary, the energy is the same."""
    swing = mb.Mechanism([rod("rod", 1.2, 0.7)], [mb.Revolute("hinge", "ground", "rod")])
    args = jax.tree.map(lambda x: x, swing.parameters)
    own = args["bodies"]["rod"]
    args["bodies"]["rod"] = fit.RigidBody(own["mass"], own["com"], own["inertia"])
    y, z, energy = jnp.array([0.4]), jnp.array([1.0]), jax.jit(swing.energy)
    assert energy(y, z, args) == energy(y, z, swing.parameters)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ((1.0, np.zeros(3), np.diag([1.0, 1, 3])), "violate the triangle inequality"),
        thorough((1.0, np.zeros(3), np.diag([1.0, 1, 2])), "lamina"),
        ((-1.0, np.zeros(3), np.eye(3)), "the mass is -1 kg"),
        ((np.ones(2), np.zeros((2, 3)), np.eye(3)), "their shapes are"),
    ],
)
def test_what_is_no_body(body, message):
    with pytest.raises(ValueError, match=message):
        mb.log_cholesky(*body)
    with pytest.raises(ValueError, match="ten numbers"):
        mb.from_log_cholesky(jnp.zeros(9))
