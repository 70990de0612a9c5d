"""Joints that close loops: rows, assembly, the same motion wherever the loop is cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, rod, T0


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
        constraints=[mb.Coupling("gear", "b", "a", polynomial=(0.2, -3.0, 0.5))],
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


def test_springs_and_dampers_stay_on_the_tree():
    """Where the loop is cut does not matter, and a damper is never lost."""

    def end(cut):
        guess = {"A": 1.0} | ({"D": 1.5} if cut != "D" else {})
        joints = [
            mb.Revolute("A", "ground", "crank"),
            mb.Revolute("B", "crank", "coupler", position=(0.3, 0)),
            mb.Revolute(
                "C", "coupler", "rocker", position=(1, 0), child_position=(0.8, 0), damping=0.5
            ),
            mb.Revolute("D", "ground", "rocker", position=(1, 0), cut=cut == "D" or None),
        ]
        bodies = [rod("crank", 1.0, 0.3), rod("coupler", 1.5, 1.0), rod("rocker", 2.0, 0.8)]
        mechanism = mb.Mechanism(bodies, joints, gravity=(0, -9.81, 0), guess=guess)
        assert "cut at C" not in repr(mechanism)
        y, z = mechanism.state({"A": 0.5}, {"A": 8.0})
        end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0, rtol=1e-10)
        return mechanism.coordinates(end.y1)["A"][0]

    assert abs(end(None) - end("D")) <= 1e-7
    assert abs(end("D") - 6.2085) <= 1e-3, "6.21 with the damper, 7.05 without"


@pytest.mark.parametrize("kind", ["weld", "revolute"])
@pytest.mark.parametrize("turn", [3.0, -2.9, 0.4])
def test_loops_close_with_axes_the_right_way(kind, turn):
    """From no rotation to nearly half a turn: perpendicular axes alone would end opposite."""
    body = mb.Body("a", 1, com=(0.5, 0, 0), inertia=1)
    half = np.cos(turn / 2), np.sin(turn / 2)
    if kind == "weld":
        frame = (half[0], 0, 0, half[1])
        joints = [
            mb.Revolute("r", "ground", "a"),
            mb.Weld("w", "ground", "a", cut=True, quaternion=frame),
        ]
        y, _ = mb.Mechanism([body], joints).state()
        assert abs(y[0] - turn) <= 1e-12
    else:
        frame = (half[0], half[1], 0, 0)
        joints = [
            mb.Spherical("s", "ground", "a"),
            mb.Revolute("w", "ground", "a", cut=True, quaternion=frame),
        ]
        mechanism = mb.Mechanism([body], joints)
        R = mechanism.pose("a", mechanism.state()[0])[:3, :3]
        expected = [0, -np.sin(turn), np.cos(turn)]
        assert np.max(np.abs(R[:, 2] - np.array(expected))) <= 1e-12


@pytest.mark.parametrize("scale", [1e-3, 1e5, 1e7])
def test_loops_close_at_any_size(scale):
    bodies = [rod(n, 1.0, scale * x) for n, x in (("a", 0.3), ("b", 1.0), ("c", 0.8))]
    joints = [
        mb.Revolute("A", "ground", "a"),
        mb.Revolute("B", "a", "b", position=(0.3 * scale, 0)),
        mb.Revolute("C", "b", "c", position=(scale, 0), child_position=(0.8 * scale, 0)),
        mb.Revolute("D", "ground", "c", position=(scale, 0)),
    ]
    mechanism = mb.Mechanism(bodies, joints, guess={"A": 1.0, "D": 1.5})
    y, z = mechanism.state({"A": 0.5}, {"A": 8.0})
    unit, rate = four_bar().state({"A": 0.5}, {"A": 8.0})
    assert largest_difference(y, unit) <= 1e-9 and largest_difference(z, rate) <= 1e-8


def test_loops_close_in_single_precision():
    with jax.enable_x64(False):
        mechanism = four_bar()
        y, z = mechanism.state({"A": 0.5}, {"A": 2.0})
        assert mechanism.loops.count == 2 and y.dtype == jnp.float32
        y, z = np.asarray(y), np.asarray(z)
    wide = [np.asarray(x) for x in four_bar().state({"A": 0.5}, {"A": 2.0})]
    assert np.max(np.abs(y - wide[0])) <= 1e-5 and np.max(np.abs(z - wide[1])) <= 1e-4
