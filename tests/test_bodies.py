"""Mechanisms of bodies and joints against equations written by hand, and against themselves."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, open_chain, START, T0


def four_bar_by_hand():
    """The same in the angles of its three links from the x axis, with the loop in the plane."""

    def points(q):
        e = jnp.stack([jnp.cos(q), jnp.sin(q)], 1)
        b = 0.3 * e[0]
        return jnp.stack([0.15 * e[0], b + 0.5 * e[1], jnp.array([1.0, 0]) + 0.4 * e[2]]), b, e

    masses, lengths = jnp.array([1.0, 1.5, 2.0]), jnp.array([0.3, 1.0, 0.8])

    def lagrangian(t, q, v, args):
        centres, rates = jax.jvp(lambda q: points(q)[0], (q,), (v,))
        kinetic = jnp.sum(masses * (jnp.sum(rates**2, 1) + lengths**2 / 12 * v**2)) / 2
        return kinetic - 9.81 * jnp.sum(masses * centres[:, 1])

    def loop(t, q, args):
        _, b, e = points(q)
        return b + e[1] - jnp.array([1.0, 0]) - 0.8 * e[2]

    return jaxspark.LagrangianSystem(lagrangian, holonomic=loop)


def test_a_four_bar_is_that_of_lagrange():
    mechanism = four_bar()
    assert mechanism.loops.count == 2, repr(mechanism)
    y0, z0 = mechanism.state({"A": 0.5}, {"A": 2.0})
    at = mechanism.coordinates(y0)
    q0 = jnp.array([at["A"][0], at["A"][0] + at["B"][0], at["D"][0]])
    of = mechanism.velocities(z0)
    v0 = jnp.array([of["A"][0], of["A"][0] + of["B"][0], of["D"][0]])
    hand = jaxspark.solve(four_bar_by_hand(), q0, v0, t1=2.0, rtol=1e-11, atol=1e-11)
    end = jaxspark.solve(
        mechanism.system, y0, z0, mechanism.parameters, t1=2.0, rtol=1e-11, atol=1e-11
    )
    found = mechanism.coordinates(end.y1)
    angles = jnp.array([found["A"][0], found["A"][0] + found["B"][0], found["D"][0]])
    assert largest_difference(angles, hand.y1) <= 1e-9
    assert float(end.stats.max_g) <= 1e-14 and float(end.stats.max_gdot) <= 1e-13
    before, after = (sum(mechanism.energy(*state)) for state in ((y0, z0), (end.y1, end.z1)))
    assert abs(after - before) <= 1e-9


@pytest.mark.parametrize(
    "method",
    [thorough(jaxspark.Gauss(4)), thorough(jaxspark.RadauIIA(4)), thorough(jaxspark.Lobatto(5))],
)
def test_momenta_and_forces_give_the_same_motion(method):
    """Implicit methods use `p`, `f` and `g`; explicit ones accelerations."""
    mechanism = open_chain()
    y0, z0 = mechanism.state({"ball": [0.9, 0.3, -0.2, 0.1], "hinge": 0.4}, START)
    options = {"t1": 0.5, "rtol": 1e-10, "atol": 1e-10}
    ends = [
        jaxspark.solve(mechanism.system, y0, z0, mechanism.parameters, method=m, **options)
        for m in (None, method)
    ]
    assert largest_difference(ends[0].y1, ends[1].y1) <= 1e-8
    assert largest_difference(ends[0].z1, ends[1].z1) <= 1e-7


def test_equations_are_those_of_lagrange():
    """`M`, and forces less Coriolis terms, from derivatives of energies with an exponential map."""
    mechanism = open_chain()
    tree, args = mechanism.tree, mechanism.parameters
    y, z = mechanism.state({"ball": [0.9, 0.3, -0.2, 0.1], "hinge": 0.4}, START)
    of = mechanism.system.accelerations(T0, y, z, jnp.ones(()), args)
    momentum = mechanism.system.p(T0, y, z, args)
    assert largest_difference(of.M @ z, momentum) <= 1e-13
    kinetic = lambda z: mechanism.energy(y, z)[0]
    assert largest_difference(of.M, jax.hessian(kinetic)(z)) <= 1e-13
    # d/dt p = f along the motion, with accelerations from M u = h.
    u = jnp.linalg.solve(of.M, of.h)
    v = mechanism.system.v(T0, y, z, args)
    rate = jax.jvp(lambda y, z: mechanism.system.p(T0, y, z, args), (y, z), (v, u))[1]
    assert largest_difference(rate, mechanism.system.f(T0, y, z, args)) <= 1e-12
    # Power of the forces is the change of energy, but for dampers, motor, wind and rope.
    free = mb.Mechanism(tree.bodies, [undamped(joint) for joint in tree.joints])
    of = free.system.accelerations(T0, y, z, jnp.ones(()), free.parameters)
    u = jnp.linalg.solve(of.M, of.h)
    total = lambda y, z: sum(free.energy(y, z))
    assert abs(jax.jvp(total, (y, z), (v, u))[1]) <= 1e-12


def undamped(joint):
    joint.damping = 0 * joint.damping
    return joint


def test_balance_is_that_of_the_accelerations():
    mechanism = four_bar()
    y, z = mechanism.state({"A": 0.5}, {"A": 2.0})
    rng = np.random.default_rng(0)
    z, u = (jnp.asarray(rng.normal(size=3)) for _ in range(2))
    mu = jnp.asarray(rng.normal(size=2))
    for on in (jnp.zeros(()), jnp.ones(())):
        of = mechanism.system.accelerations(T0, y, z, on, mechanism.parameters)
        forces, change, b = mechanism.system.balance(T0, y, z, u, mu, on, mechanism.parameters)
        assert largest_difference(forces, of.M @ u + of.C.T @ mu - of.h) <= 1e-13
        assert largest_difference(change, of.C @ u + of.c) <= 1e-13
        assert largest_difference(b, of.b) <= 1e-15
    g = lambda y: mechanism.system.g(T0, y, mechanism.parameters)
    gdot = lambda y: jax.jvp(g, (y,), (z,))[1]
    assert largest_difference(gdot(y), of.C @ z) <= 1e-13
    assert largest_difference(gdot(y), of.b) <= 1e-13
    assert largest_difference(jax.jvp(gdot, (y,), (z,))[1], of.c) <= 1e-12


def test_a_batch_is_a_loop():
    mechanism = four_bar()
    y, z = mechanism.state({"A": 0.5}, {"A": 2.0})
    scale = jnp.array([0.9, 1.0, 1.2])

    def end(s):
        args = jax.tree.map(lambda x: x, mechanism.parameters)
        args["bodies"]["coupler"]["mass"] = 1.5 * s
        return jaxspark.solve(mechanism.system, y, z, args, t1=0.5).y1

    assert largest_difference(jax.vmap(end)(scale), jnp.stack([end(s) for s in scale])) <= 1e-13


def test_pictures():
    mechanism = four_bar()
    y, _ = mechanism.state({"A": 0.5})
    (axes,) = mechanism.show(y).axes
    drawn = {line.get_label(): line.get_xydata() for line in axes.lines}
    ends = [mechanism.position("crank", y, at)[:2] for at in ((0.3, 0), (0, 0))]
    np.testing.assert_allclose(drawn["crank"], ends, atol=1e-15)
    assert [text.get_text().strip() for text in axes.texts] == ["A", "B", "C", "D"]
    assert len(open_chain().show().axes[0].get_zlabel()) and "crank" in mechanism._repr_html_()
    frames = mechanism.shape()(None, y)
    np.testing.assert_allclose(frames["crank"][:, :2], ends, atol=1e-15)
    plt.close("all")


def test_single_precision():
    mechanism = four_bar()
    state = mechanism.state({"A": 0.5}, {"A": 2.0})
    y, z, args = jax.tree.map(lambda x: x.astype(jnp.float32), (*state, mechanism.parameters))
    end = jaxspark.solve(mechanism.system, y, z, args, t1=0.5)
    wide = jaxspark.solve(mechanism.system, *state, mechanism.parameters, t1=0.5, rtol=1e-9)
    assert end.y1.dtype == jnp.float32
    assert largest_difference(end.y1.astype(float), wide.y1) <= 1e-3
