"""Derivatives of motions of bodies with respect to all parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.core._gradients import differences
from helpers import thorough
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, open_chain, START


def loss(parameters, mechanism, y, z):
    end = jaxspark.solve(mechanism.system, y, z, parameters, t1=0.4, rtol=1e-10, atol=1e-10)
    return jnp.sum(end.y1 * jnp.arange(1.0, end.y1.size + 1)) + jnp.sum(end.z1)


def direction(parameters):
    """A change of all parameters that keeps loops closed and inertias symmetric."""
    rng = np.random.default_rng(0)
    change = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=np.shape(x))), parameters)
    kept = ("damping", "armature", "stiffness")
    change["joints"] = {
        name: {what: x if what in kept else 0 * x for what, x in of.items()}
        for name, of in change["joints"].items()
    }
    change["bodies"] = {
        name: of | {"inertia": of["inertia"] + of["inertia"].T}
        for name, of in change["bodies"].items()
    }
    return change


def moving(which):
    if which == "four bar":
        mechanism = four_bar()
        return mechanism, *mechanism.state({"A": 0.5}, {"A": 2.0})
    mechanism = open_chain()
    return mechanism, *mechanism.state({"ball": [0.9, 0.3, -0.2, 0.1], "hinge": 0.4}, START)


@pytest.mark.parametrize("which", ["four bar", thorough("chain")])
def test_gradients_by_all_parameters(which):
    mechanism, y, z = moving(which)
    change = direction(mechanism.parameters)

    def along(e):
        moved = jax.tree.map(lambda x, d: x + e * d, mechanism.parameters, change)
        return loss(moved, mechanism, y, z)

    gradient = jax.jit(jax.grad(loss), static_argnums=1)(mechanism.parameters, mechanism, y, z)
    pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(change), strict=True)
    reverse = sum(jnp.sum(a * b) for a, b in pairs)
    value = jax.jit(along)
    forward = jax.jit(lambda e: jax.jvp(along, (e,), (1.0,))[1])(0.0)
    h = 1e-4
    differences = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    assert abs(forward - reverse) <= 1e-10 * abs(reverse)
    assert abs(forward - differences) <= 1e-6 * abs(reverse)


@pytest.mark.parametrize("which", [thorough("four bar"), thorough("chain")])
def test_second_derivatives(which):
    mechanism, y, z = moving(which)
    change = direction(mechanism.parameters)

    def along(e):
        moved = jax.tree.map(lambda x, d: x + e * d, mechanism.parameters, change)
        return loss(moved, mechanism, y, z)

    slope, h = jax.jit(jax.grad(along)), 1e-4
    second = jax.jit(jax.jacfwd(jax.grad(along)))(0.0)
    differences = (8 * (slope(h) - slope(-h)) - (slope(2 * h) - slope(-2 * h))) / (12 * h)
    assert abs(second - differences) <= 1e-5 * abs(second)


def test_entries_of_an_inertia_are_parameters_of_their_own():
    """Those below the diagonal, too: the mass matrix and inverse dynamics see the same of them."""
    inertia = np.array([[0.2, 0.02, -0.01], [0.02, 0.25, 0.03], [-0.01, 0.03, 0.3]])
    made = mb.Mechanism(
        [mb.Body("top", 1.0, com=(0.1, 0.2, 0), inertia=inertia)],
        [mb.Spherical("pin", "ground", "top")],
    )
    y, z = made.state({}, {"pin": (1.0, 2.0, 3.0)})

    @jax.jit
    def end(entries):
        own = made.parameters["bodies"]["top"] | {"inertia": entries.reshape(3, 3)}
        args = made.parameters | {"bodies": {"top": own}}
        options = {"t1": 0.3, "rtol": 1e-12, "atol": 1e-12, "max_steps": 256}
        return jaxspark.solve(made.system, y, z, args, **options).y1 @ jnp.arange(1.0, 5.0)

    entries = jnp.asarray(inertia).reshape(-1)
    slope = jax.jit(jax.grad(end))(entries)
    exact = differences(lambda x: np.asarray(end(jnp.asarray(x)))[None], np.asarray(entries))
    np.testing.assert_allclose(slope, exact[0], atol=1e-8 * float(jnp.max(jnp.abs(slope))))
