"""Mechanisms of bodies and joints against equations written by hand, and against themselves."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb


T0 = jnp.zeros(())


def rod(name, mass, length, **options):
    return mb.Body(name, mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12, **options)


def four_bar(**options):
    """A crank of .3 m, a coupler of 1 m, a rocker of .8 m; pivots 1 m apart."""
    return mb.Mechanism(
        [rod("crank", 1.0, 0.3), rod("coupler", 1.5, 1.0), rod("rocker", 2.0, 0.8)],
        [
            mb.Revolute("A", "ground", "crank"),
            mb.Revolute("B", "crank", "coupler", position=(0.3, 0)),
            mb.Revolute("C", "coupler", "rocker", position=(1, 0), child_position=(0.8, 0)),
            mb.Revolute("D", "ground", "rocker", position=(1, 0)),
        ],
        gravity=(0, -9.81, 0), guess={"A": 1.0, "D": 1.5}, **options,
    )  # fmt: skip


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


START = {"free": [0.1, 0.2, -0.3, 1.0, -2.0, 0.5], "ball": [0.4, 1.0, -0.7], "hinge": 2.0}


def open_chain():
    """A free body, a ball, a hinge and a slide, none of them along an axis of coordinates."""
    inertia = [[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]
    return mb.Mechanism(
        [
            mb.Body("base", 2.0, com=(0.1, -0.2, 0.05), inertia=inertia),
            mb.Body("arm", 1.0, com=(0.2, 0.1, 0.3), inertia=inertia),
            mb.Body("plate", 0.5, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.15)),
            mb.Body("mass", 0.7, com=(0.02, 0, 0.1), inertia=0.01),
        ],
        [
            mb.Free("free", "ground", "base"),
            mb.Spherical(
                "ball", "base", "arm", position=(0.3, 0.1, 0), child_position=(0, 0, -0.2),
                quaternion=(0.8, 0.1, 0.5, -0.2), child_quaternion=(1, 0.3, 0, 0), damping=0.1,
            ),
            mb.Revolute(
                "hinge", "arm", "plate", position=(0, 0.2, 0.1), child_position=(0.1, 0, 0),
                axis=(1, 2, -1), stiffness=3.0, rest=0.2, armature=0.05,
            ),
            mb.Prismatic("slide", "plate", "mass", axis=(0, 1, 1), stiffness=40.0, damping=0.3),
        ],
        forces=[
            mb.Spring("rope", "ground", "mass", at_first=(1, 1, 1), stiffness=20.0, length=0.5),
            mb.PointForce("wind", "plate", lambda t, x, v, args: -0.2 * v, at=(0, 0.3, 0)),
            mb.Motor("drive", "hinge", lambda t, q, z, args: jnp.sin(3 * t) - 0.1 * z),
        ],
    )  # fmt: skip


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
    z, u, s = (jnp.asarray(rng.normal(size=3)) for _ in range(3))
    mu = jnp.asarray(rng.normal(size=2))
    for on in (jnp.zeros(()), jnp.ones(())):
        of = mechanism.system.accelerations(T0, y, z, on, mechanism.parameters)
        forces, rates = mechanism.system.balance(T0, y, z, u, s, mu, on, mechanism.parameters)
        assert largest_difference(forces, of.M @ u + of.C.T @ mu - of.h) <= 1e-13
        assert largest_difference(rates, of.C @ s + of.c) <= 1e-13
    g = lambda y: mechanism.system.g(T0, y, mechanism.parameters)
    gdot = lambda y: jax.jvp(g, (y,), (z,))[1]
    assert largest_difference(gdot(y), of.C @ z) <= 1e-13
    assert largest_difference(jax.jvp(gdot, (y,), (z,))[1], of.c) <= 1e-12


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
    assert abs(second - (slope(h) - slope(-h)) / (2 * h)) <= 1e-5 * abs(second)


def test_a_batch_is_a_loop():
    mechanism = four_bar()
    y, z = mechanism.state({"A": 0.5}, {"A": 2.0})
    scale = jnp.array([0.9, 1.0, 1.2])

    def end(s):
        args = jax.tree.map(lambda x: x, mechanism.parameters)
        args["bodies"]["coupler"]["mass"] = 1.5 * s
        return jaxspark.solve(mechanism.system, y, z, args, t1=0.5).y1

    assert largest_difference(jax.vmap(end)(scale), jnp.stack([end(s) for s in scale])) <= 1e-13


CLOSED = {
    "revolute": lambda **o: mb.Revolute("c", "link", "end", **o),
    "spherical": lambda **o: mb.Spherical("c", "link", "end", **o),
    "universal": lambda **o: mb.Universal(
        "c", "link", "end", axis=(0, 0, 1), second=(1, 0, 0), **o
    ),
    "cylindrical": lambda **o: mb.Cylindrical("c", "link", "end", **o),
    "planar": lambda **o: mb.Planar("c", "link", "end", **o),
    "prismatic": lambda **o: mb.Prismatic("c", "link", "end", axis=(0.3, 1, 0.2), **o),
    "weld": lambda **o: mb.Weld("c", "link", "end", **o),
}


@pytest.mark.parametrize("kind", [thorough(kind) for kind in CLOSED])
def test_a_joint_that_is_cut_moves_as_one_that_is_not(kind):
    """Two bodies on a tree, and the second on a free joint with the joint between them cut."""
    bodies = [
        mb.Body("link", 1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.2, 0.25)),
        mb.Body("end", 0.6, com=(0.1, 0, 0.2), inertia=(0.05, 0.06, 0.07)),
    ]
    place = {"position": (0.5, 0.1, 0.2), "child_position": (-0.2, 0.1, 0)}
    hinge = mb.Revolute("a", "ground", "link", axis=(1, 1, 0.2))
    tree = mb.Mechanism(bodies, [hinge, CLOSED[kind](**place)])
    cut = mb.Mechanism(
        bodies, [hinge, CLOSED[kind](cut=True, **place), mb.Free("f", "ground", "end")],
        guess={"f": [0.7, 0, 0.2, 1, 0, 0, 0]},
    )  # fmt: skip
    freedoms = tree.tree.nz - 1
    assert cut.loops.count == 6 - freedoms
    y, z = tree.state({}, {"a": 1.0})
    pose = np.asarray(tree.pose("end", y))
    y2, z2 = cut.state({"a": 0.0, "f": [*pose[:3, 3], 1, 0, 0, 0]})
    # The velocity of the free body is that of the other at the same place.
    moving = lambda t: tree.pose(
        "end", y + t * tree.system._v(T0, y, z, None) if tree.system.v else y + t * z
    )
    T, dT = jax.jvp(moving, (0.0,), (1.0,))
    W = T[:3, :3].T @ dT[:3, :3]
    z2 = jnp.concatenate([z[:1], dT[:3, 3], jnp.array([W[2, 1], W[0, 2], W[1, 0]])])
    z2 = jnp.zeros(7).at[jnp.concatenate([cut._at["a"][1], cut._at["f"][1]])].set(z2)
    options = {"t1": 0.4, "rtol": 1e-10, "atol": 1e-10}
    one = jaxspark.solve(tree.system, y, z, tree.parameters, **options)
    two = jaxspark.solve(cut.system, y2, z2, cut.parameters, **options)
    assert float(two.stats.max_g) <= 1e-13
    assert largest_difference(tree.pose("end", one.y1), cut.pose("end", two.y1)) <= 1e-8


def test_gears_and_screws():
    wheel = lambda name: mb.Body(name, 1.0, inertia=0.1)
    gear = mb.Mechanism(
        [wheel("first"), wheel("second")],
        [mb.Revolute("a", "ground", "first"), mb.Revolute("b", "ground", "second")],
        couplings=[mb.Coupling("gear", "b", "a", polynomial=(0.2, -3.0, 0.5))],
        forces=[mb.Motor("m", "a", lambda t, q, z, args: 1.0)],
    )
    y, z = gear.state({"a": 0.1}, {"a": 0.5})
    end = jaxspark.solve(gear.system, y, z, gear.parameters, t1=0.7, rtol=1e-9)
    a, b = end.y1
    assert abs(b - (0.2 - 3 * a + 0.5 * a**2)) <= 1e-14
    a, b = end.z1
    # Work of the torque of 1 N m.
    assert abs(0.05 * (a**2 + b**2) - 0.05 * (z @ z) - (end.y1[0] - 0.1)) <= 1e-8
    screw = mb.Mechanism(
        [mb.Body("nut", 2.0, inertia=0.3)], [mb.Screw("s", "ground", "nut", pitch=0.4)]
    )
    y, z = screw.state()
    end = jaxspark.solve(screw.system, y, z, screw.parameters, t1=1.0)
    # Energy: (I + m pitch^2) q'' = -m g pitch.
    assert abs(end.y1[0] + 0.5 * 2 * 9.81 * 0.4 / (0.3 + 2 * 0.16)) <= 1e-8
    assert abs(screw.position("nut", end.y1)[2] - 0.4 * end.y1[0]) <= 1e-14


def test_lines_and_points():
    """A slider-crank whose slider is a point on a line; a point in a plane."""
    crank = mb.Mechanism(
        [rod("crank", 1.0, 0.3), rod("rod", 1.0, 1.0)],
        [
            mb.Revolute("A", "ground", "crank"),
            mb.Revolute("B", "crank", "rod", position=(0.3, 0)),
            mb.PointOnLine("S", "ground", "rod", child_position=(1, 0), axis=(1, 0, 0)),
        ],
        gravity=(0, -9.81, 0), guess={"A": 0.7, "B": -1.0},
    )  # fmt: skip
    assert crank.loops.count == 1
    y, z = crank.state({"A": 0.7}, {"A": 3.0}, guess={"B": -1.0})
    end = jaxspark.solve(crank.system, y, z, crank.parameters, t1=1.0, rtol=1e-9)
    slider = crank.position("rod", end.y1, (1, 0, 0))
    angle = end.y1[0]
    assert abs(slider[1]) <= 1e-15
    expected = 0.3 * jnp.cos(angle) + jnp.sqrt(1 - (0.3 * jnp.sin(angle)) ** 2)
    assert abs(slider[0] - expected) <= 1e-14
    plane = mb.Mechanism(
        [mb.Body("top", 1.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.05))],
        [
            mb.Free("f", "ground", "top"),
            mb.PointOnPlane("p", "ground", "top", axis=(0, 0, 1)),
        ],
    )  # fmt: skip
    y, z = plane.state({}, {"f": [0.1, 0, 0, 0.2, 0.1, 9.0]})
    end = jaxspark.solve(plane.system, y, z, plane.parameters, t1=0.5, rtol=1e-9)
    assert abs(end.y1[2]) <= 1e-15
    before, after = (sum(plane.energy(*state)) for state in ((y, z), (end.y1, end.z1)))
    assert abs(after - before) <= 1e-7


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


BAR = [rod("bar", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.Body("ground"), "what does not move"),
        (lambda: mb.Body("b", -1.0), "has mass -1"),
        (lambda: mb.Body("b", 1.0, com=(1, 2, 3, 4)), "com of body 'b' must be three"),
        (lambda: mb.Body("b", 1.0, inertia=np.ones((2, 2))), "one number, three or a matrix"),
        (lambda: mb.Body("b", 1.0, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: mb.Body("b", 1.0, inertia=(1, 1, 3)), "as no body has"),
        (lambda: mb.Body("b", 1.0, lines=[np.ones((2, 2))]), "arrays \\(points, 3\\)"),
        (lambda: mb.Revolute("a", "bar", "bar"), "to itself"),
        (lambda: mb.Revolute("a", "ground", "bar", axis=(0, 0, 0)), "must not be zero"),
        (lambda: mb.Revolute("a", "ground", "bar", quaternion=(1, 0, 0)), "four numbers"),
        (lambda: mb.Universal("a", "ground", "bar", second=(1, 1, 0)), "are perpendicular"),
        (lambda: mb.Screw("a", "ground", "bar", pitch=1.0, cut=True), "cannot close a loop"),
        (lambda: mb.Mechanism(BAR, [mb.Revolute("a", "ground", "bat")]), "'bat'.*none of the bo"),
        (lambda: mb.Mechanism(BAR, []), "No joints lead from the ground to \\['bar'\\]"),
        (lambda: mb.Mechanism(BAR * 2, []), "\\['bar'\\] occur twice"),
        (lambda: mb.Mechanism(BAR, [mb.Spherical("s", "bar", "ground")]), "exchange the two bod"),
        (
            lambda: mb.Mechanism(
                BAR,
                [
                    mb.Revolute("a", "ground", "bar", cut=False),
                    mb.Weld("w", "ground", "bar", cut=False),
                ],
            ),
            "closes a loop, and cut=False",
        ),
        (
            lambda: mb.Mechanism(
                BAR,
                [
                    mb.Revolute("a", "ground", "bar"),
                    mb.PointOnLine("l", "ground", "bar", position=(0, 5), axis=(1, 0, 0)),
                ],
            ),
            "do not close",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")], forces=[mb.Spring("s", "bar", "bat")]
            ),
            "acts on 'bat'",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")],
                forces=[mb.Motor("m", "b", lambda t, q, z, args: 0.0)],
            ),
            "none of the joints",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Spherical("a", "ground", "bar")],
                forces=[mb.Motor("m", "a", lambda t, q, z, args: 0.0)],
            ),
            "needs a joint with axes",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Spherical("a", "ground", "bar")], couplings=[mb.Coupling("g", "a")]
            ),
            "joints with one coordinate",
        ),
        (lambda: mb.Coupling("g", "a", polynomial=[[1.0]]), "vector of finite"),
        (lambda: four_bar().state({"E": 1.0}), "'E' is no joint with coordinates"),
        (lambda: four_bar().state({"A": [1.0, 2.0]}), "has 1 of these"),
        (lambda: four_bar().state({"A": np.nan}), "all finite; got"),
        (lambda: mb.Revolute("a", "ground", "bar", damping=[1, 2]), "damping of joint 'a' must"),
        (lambda: mb.Spherical("a", "ground", "bar", stiffness=3.0), "has no axis, and so no st"),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")], couplings=[mb.Coupling("g", "a")] * 2
            ),
            "occur twice",
        ),
        (lambda: four_bar().state({"A": 1.0, "B": 1.0, "D": 1.0}), "loops stay open by"),
        (lambda: four_bar().state({"A": 1.0}, {"A": 1.0, "B": 9.0}), "do not allow these vel"),
        (lambda: four_bar().pose("bat", jnp.zeros(3)), "'bat' is none of the bodies"),
    ],
)  # fmt: skip
def test_wrong_mechanisms_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_functions_that_are_none_are_refused():
    with pytest.raises(TypeError, match="torque of 'm' must be a function"):
        mb.Motor("m", "a", 3.0)
    with pytest.raises(TypeError, match="force of 'f' must be a function"):
        mb.PointForce("f", "bar", 3.0)
