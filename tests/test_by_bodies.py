"""Mechanisms in coordinates of bodies, against the same in coordinates of joints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar


INERTIA = [[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]
PLACE = {"quaternion": (0.8, 0.1, 0.5, -0.2), "child_position": (0, 0, -0.2)}


def body(name):
    return mb.Body(name, 1.3, com=(0.1, -0.2, 0.05), inertia=INERTIA)


def chain():
    """Each kind of joint with coordinates, with damping and springs; one reaches back."""
    joints = [
        mb.Free("free", "ground", "a"),
        mb.Spherical("ball", "a", "b", position=(0.3, 0.1, 0), damping=0.1, **PLACE),
        mb.Revolute("hinge", "c", "b", axis=(1, 2, -1), damping=0.2, **PLACE),
        mb.Prismatic("slide", "c", "d", axis=(0, 1, 1), stiffness=40.0, damping=0.3),
        mb.Universal("cross", "d", "e", axis=(0, 0, 1), second=(1, 0, 0), damping=0.2, **PLACE),
        mb.Planar("plane", "e", "f", damping=(0.1, 0.2, 0.3), **PLACE),
        mb.Cylindrical("sleeve", "f", "g", stiffness=(3.0, 0.0), rest=0.1, **PLACE),
        mb.Weld("weld", "g", "h", position=(0.3, 0, 0)),
    ]
    return mb.Mechanism(
        [body(name) for name in "abcdefgh"], joints,
        forces=[
            mb.Spring("rope", "ground", "d", at_first=(1, 1, 1), stiffness=20.0, length=0.5),
            mb.Bushing("pad", "a", "f", stiffness=(5, 1), damping=(0.1, 0.1)),
            mb.PointForce("wind", "c", lambda t, x, v, args: -0.2 * v, at=(0, 0.3, 0)),
            mb.Motor("drive", "hinge", lambda t, q, z, args: jnp.sin(3 * t) - 0.1 * z),
        ],
    )  # fmt: skip


def start(mechanism, seed=0):
    rng = np.random.default_rng(seed)
    values = {name: 0.4 * rng.normal(size=at.size) for name, at in places(mechanism).items()}
    y, z = mechanism.state(values)
    return y, z + jnp.asarray(rng.normal(size=z.size))


def places(mechanism):
    return mechanism.coordinates(jnp.arange(mechanism.tree.ny))


def rolling():
    return mb.Mechanism(
        [body("ball")], [mb.Free("free", "ground", "ball")],
        constraints=[
            mb.Rolling("rolls", "ground", "ball", mb.Sphere(0.5), position=(0, 0, -0.5)),
            mb.Distance("rod", "ground", "ball", at_second=(0.1, 0, 0), length=0.7),
        ],
        guess={"free": [0.6, 0, 0, 1, 0, 0, 0]},
    )  # fmt: skip


def bent():
    """A four-bar whose last joint moves in all of space: some of its rows say nothing."""
    made = four_bar()
    y, z = made.state({"A": 0.5}, {"A": 2.0})
    return made, y, z


def test_states_go_to_bodies_and_back():
    mechanism = chain()
    y, z = start(mechanism)
    other = mechanism.by_bodies()
    Y, Z = jax.jit(other.of_joints)(y, z)
    assert Y.shape == (8, 7) and Z.shape == (8, 6)
    back = jax.jit(other.to_joints)(Y, Z)
    # Quaternions may have the other sign.
    for name, at in places(mechanism).items():
        q, r = back[0][at], y[at]
        assert min(largest_difference(q, r), largest_difference(q, -r)) <= 1e-14
    assert largest_difference(back[1], z) <= 1e-13
    pose = jax.jit(lambda y, Y: (mechanism.pose("h", y), other.pose("h", Y)))(y, Y)
    assert largest_difference(*pose) <= 1e-14
    point = mechanism.position("c", y, (0.1, -0.2)), other.position("c", Y, (0.1, -0.2))
    assert largest_difference(*point) <= 1e-14
    energies = jax.jit(lambda y, z, Y, Z: (mechanism.energy(y, z), other.energy(Y, Z)))(y, z, Y, Z)
    assert largest_difference(*map(jnp.stack, energies)) <= 1e-12
    residuals = jaxspark.diagnostics.constraint_residuals(other.system, 0.0, Y, Z, other.parameters)
    assert max(float(jnp.max(jnp.abs(x))) for x in (*residuals.g, *residuals.gdot)) <= 1e-13


CASES = {
    "chain": lambda: (chain(), *start(chain())),
    "loop": bent,
    "rolling": lambda: (rolling(), *rolling().state()),
}


@pytest.mark.parametrize("name", [thorough(name) for name in CASES])
def test_accelerations_are_those_of_joints(name):
    mechanism, y, z = CASES[name]()
    other = mechanism.by_bodies()
    found = mechanism.results((0.3, y, z)).bodies
    Y, Z = other.of_joints(y, z)
    u = jaxspark.multipliers(other.system, 0.3, Y, Z, other.parameters).zdot
    for number, one in enumerate(mechanism.tree.bodies):
        of = found[one.name]
        assert largest_difference(u[number, :3], of.com_acceleration) <= 1e-10
        # The derivative of an angular velocity is the same in axes that turn with it.
        spin = of.rotation.T @ of.angular_acceleration
        assert largest_difference(u[number, 3:], spin) <= 1e-10


def test_a_four_bar_moves_alike_and_its_gradient_too():
    mechanism, y, z = bent()
    other = mechanism.by_bodies()

    def ends(mass):
        args = jax.tree.map(lambda x: x, mechanism.parameters)
        args["bodies"]["coupler"]["mass"] = mass
        options = {"t1": 0.3, "rtol": 1e-11, "atol": 1e-11}
        one = jaxspark.solve(mechanism.system, y, z, args, **options)
        two = jaxspark.solve(other.system, *other.of_joints(y, z, args), args, **options)
        return mechanism.position("coupler", one.y1, args=args)[0], two.y1[1, 0], two.stats.max_g

    at = jnp.asarray(1.5)
    centre = lambda mass: ends(mass)[1]
    assert float(ends(at)[2]) <= 1e-14
    reverse, forward = jax.jit(jax.grad(centre))(at), jax.jit(jax.jacfwd(centre))(at)
    assert abs(float(reverse / forward) - 1) <= 1e-9
    end = jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=0.3, rtol=1e-11, atol=1e-11
    ).y1
    middle = mechanism.position("coupler", end, (0.5, 0))
    assert abs(float(middle[0] - centre(at))) <= 1e-10


LONG = mb.Body("bar", 1.0, inertia=0.1)


def test_rolling_on_planes_of_several_directions():
    """One group of equations, with the tangents of each plane."""
    mechanism = mb.Mechanism(
        [body("a"), body("b")], [mb.Free("A", "ground", "a"), mb.Free("B", "ground", "b")],
        constraints=[
            mb.Rolling("floor", "ground", "a", mb.Sphere(1.0)),
            mb.Rolling("wall", "ground", "b", mb.Sphere(1.0), normal=(2, 0, 0)),
        ],
    )  # fmt: skip
    y = jnp.zeros(14).at[np.array([2, 7])].set(1.0).at[np.array([3, 10])].set(1.0)
    z = jnp.zeros(12).at[np.array([7, 8])].set(jnp.array([3.0, 2.0]))
    other = mechanism.by_bodies()
    slip = other.system.k(jnp.zeros(()), *other.of_joints(y, z), other.parameters)
    assert abs(float(jnp.linalg.norm(slip[0][1])) - np.sqrt(13.0)) <= 1e-14
    assert (
        largest_difference(
            jnp.concatenate(list(slip[0])),
            mechanism.system.k(jnp.zeros(()), y, z, mechanism.parameters),
        )
        <= 1e-14
    )


def test_classes_of_forces_of_ones_own():
    class Push(mb.Force):
        def __init__(self, name, on, size):
            self.name, self.bodies, self.size_of = name, (on,), size

        def wrenches(self, t, at, motion, own, args):
            x = jnp.append(at[0][:3, 3], 1.0)
            return (jnp.outer(jnp.array([self.size_of, 0.0, 0.0]), x),)

    mechanism = mb.Mechanism(
        [body("a"), body("b")], [mb.Free("A", "ground", "a"), mb.Free("B", "ground", "b")],
        forces=[Push("one", "a", 1.0), Push("two", "b", 5.0)],
    )  # fmt: skip
    other = mechanism.by_bodies()
    f = other.system.f(jnp.zeros(()), *other.state(), other.parameters)
    assert largest_difference(f[:, 0], np.array([1.0, 5.0])) <= 1e-14


def test_equal_constraints_are_redundant():
    rods = [mb.Distance(name, "ground", "a", length=1.0) for name in "pq"]
    mechanism = mb.Mechanism(
        [body("a")], [mb.Free("A", "ground", "a")], constraints=rods,
        guess={"A": [1.0, 0, 0, 1, 0, 0, 0]},
    )  # fmt: skip
    assert mechanism.loops.count == 1 and mechanism.by_bodies().redundant


ERRORS = {
    "has a spring that turns": ([mb.Revolute("a", "ground", "bar", stiffness=2.0)], {}),
    "has armature": ([mb.Revolute("a", "ground", "bar", armature=0.1)], {}),
    "has a pitch": ([mb.Screw("a", "ground", "bar", pitch=0.1)], {}),
    "is for coordinates of joints": (
        [mb.Revolute("a", "ground", "bar")],
        {"constraints": [mb.Coupling("held", "a", polynomial=0.0)]},
    ),
    "needs coordinates of joints": (
        [mb.Revolute("a", "ground", "bar")],
        {"constraints": [mb.Prescribed("drive", "a", lambda t, args: t)]},
    ),
}


@pytest.mark.parametrize("words", ERRORS)
def test_what_bodies_do_not_have(words):
    joints, options = ERRORS[words]
    mechanism = mb.Mechanism([LONG], joints, **options)
    with pytest.raises(ValueError, match=words):
        mechanism.by_bodies()
