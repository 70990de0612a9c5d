"""Bushings, forces by functions, contact by a penalty, controllers with states of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxspark
from helpers import largest_difference
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar


TIGHT = {"rtol": 1e-11, "atol": 1e-11}
BLOCK = mb.Body("block", 2.0, com=(0.05, -0.02, 0.03), inertia=(0.1, 0.15, 0.2))
FREE = mb.Free("free", "ground", "block")
PLACE = {"quaternion": (0.9, 0.1, -0.3, 0.2), "second_position": (0.1, 0, 0.05)}


def test_a_bushing_keeps_energy_through_large_turns():
    """With stiffnesses that differ in all six directions; its torques are those of an energy."""
    mechanism = mb.Mechanism(
        [BLOCK], [FREE], gravity=(0, 0, -1.0),
        forces=[
            mb.Bushing("b", "ground", "block", stiffness=(30, 40, 20, 1.0, 2.5, 4.0), **PLACE)
        ],
    )  # fmt: skip
    y, z = mechanism.state(
        {"free": [0.2, 0.1, -0.1, 0.6, 0.5, 0.4, -0.1]}, {"free": [0.3, 0, 0.2, 1.0, -2.0, 0.5]}
    )
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=3.0, **TIGHT)
    first, last = (sum(mechanism.energy(*x)) for x in ((y, z), (motion.y1, motion.z1)))
    assert abs(float(last - first)) <= 1e-9
    assert largest_difference(motion.y1, y) >= 0.1


@pytest.mark.parametrize("axis", range(3))
def test_a_bushing_turns_at_its_frequency(axis):
    inertia, stiffness = np.array([0.1, 0.15, 0.2]), np.array([1.0, 2.5, 4.0])
    mechanism = mb.Mechanism(
        [mb.Body("block", 2.0, inertia=inertia)], [FREE], gravity=(0, 0, 0),
        forces=[
            mb.Bushing(
                "b", "ground", "block", stiffness=(9, 9, 9, *stiffness), damping=(0.0, 0.02)
            )
        ],
    )  # fmt: skip
    # About one axis of both alone, at any angle.
    q = np.zeros(7)
    q[3], q[4 + axis] = np.cos(0.4), np.sin(0.4)
    y, z = mechanism.state({"free": q})
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0, **TIGHT)
    A = np.array([[0, 1], [-stiffness[axis], -0.02]]) / np.array([[1.0], [inertia[axis]]])
    angle = 2 * np.arctan2(motion.y1[4 + axis], motion.y1[3])
    assert abs(float(angle) - (scipy.linalg.expm(A) @ [0.8, 0])[0]) <= 1e-9


def test_derivatives_of_a_bushing_where_it_is_not_turned():
    mechanism = mb.Mechanism(
        [BLOCK], [FREE],
        forces=[mb.Bushing("b", "ground", "block", stiffness=(30, 4), damping=(1, 0.2))],
    )  # fmt: skip
    y, z = mechanism.state()
    f = lambda y: mechanism.system.f(jnp.zeros(()), y, z, mechanism.parameters)
    J = jax.jacfwd(f)(y)
    assert largest_difference(J, jax.jacrev(f)(y)) <= 1e-12
    # A turn by a small angle changes a quaternion by half of it; the weight turns, too.
    weight = 2.0 * 9.81 * np.array([[0.03, 0, 0], [0, 0.03, 0], [-0.05, 0.02, 0]])
    assert largest_difference(0.5 * J[3:6, 4:7], weight - 4.0 * np.eye(3)) <= 1e-12
    H = jax.jacfwd(jax.jacrev(lambda y: jnp.sum(f(y) ** 2)))(y)
    assert bool(jnp.all(jnp.isfinite(H)))


def test_a_force_of_bodies_is_a_spring_and_a_torque():
    def spring(t, at, motion, args):
        apart = at[1][:3, 3] - at[0][:3, 3]
        length = jnp.sqrt(jnp.sum(apart**2))
        pull = 20.0 * (length - 0.5) * apart / length
        return (pull, jnp.zeros(3)), (-pull, jnp.zeros(3))

    bodies = [BLOCK, mb.Body("other", 1.0, inertia=0.1)]
    joints = [FREE, mb.Spherical("ball", "ground", "other", child_position=(0.3, 0, 0))]
    one, two = (
        mb.Mechanism(bodies, joints, forces=[force], guess={"free": [1, 0, 0, 1, 0, 0, 0]})
        for force in (
            mb.Spring("s", "block", "other", stiffness=20.0, length=0.5),
            mb.BodyForce("s", ["block", "other"], spring),
        )
    )
    y, z = one.state()
    ends = [jaxspark.solve(x.system, y, z, x.parameters, t1=0.5, **TIGHT) for x in (one, two)]
    assert largest_difference(ends[0].y1, ends[1].y1) <= 1e-12
    turned = mb.Mechanism(
        [mb.Body("wheel", 1.0, inertia=0.2)], [mb.Revolute("a", "ground", "wheel", axis=(0, 3, 4))],
        forces=[mb.BodyForce("t", ["wheel"], lambda t, at, v, args: [(args["T"] * 0, args["T"])])],
    )  # fmt: skip
    y, z = turned.state()
    args = turned.parameters | {"T": jnp.array([0.0, 0.3, 0.4])}
    end = jaxspark.solve(turned.system, y, z, args, t1=1.0)
    assert abs(float(end.y1[0]) - 0.5 * 0.5 / 0.2) <= 1e-13


def test_contact_by_a_penalty():
    """At rest at the depth that carries the weight; sliding it brakes by friction times weight."""
    g, stiffness, friction = 9.81, 1e4, 0.3
    depth = (2.0 * g / stiffness) ** (2 / 3)
    mechanism = mb.Mechanism(
        [mb.Body("ball", 2.0, inertia=1e9)], [mb.Free("free", "ground", "ball")],
        forces=[
            mb.PenaltyContact(
                "floor", "ground", "ball", mb.Sphere(0.1), stiffness=stiffness, friction=friction,
                smooth=1e-9, slip=1e-6,
            )
        ],
    )  # fmt: skip
    y, z = mechanism.state(
        {"free": [0, 0, 0.1 - depth, 1, 0, 0, 0]}, {"free": [2.0, 0, 0, 0, 0, 0]}
    )
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.4, **TIGHT)
    assert abs(float(motion.y1[2]) - (0.1 - depth)) <= 1e-9
    assert abs(float(motion.z1[0]) - (2.0 - friction * g * 0.4)) <= 1e-7
    # Far from the plane there is no force.
    y, z = mechanism.state({"free": [0, 0, 5.0, 1, 0, 0, 0]})
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.5, **TIGHT)
    assert abs(float(motion.y1[2]) - (5.0 - 0.5 * g * 0.25)) <= 1e-12


def winding():
    """A motor with a winding: `L i' = V - R i - k z`, and a torque `k i`."""
    L, R, k, J = 0.05, 0.4, 0.3, 0.02
    return mb.Mechanism(
        [mb.Body("rotor", 1.0, inertia=J)], [mb.Revolute("a", "ground", "rotor", damping=0.01)],
        forces=[
            mb.Controller(
                "winding", "a", lambda t, q, z, s, args: k * s,
                lambda t, q, z, s, args: (args["V"] - R * s - k * z) / L, start=0.2,
            )
        ],
    ), np.array([[0, 1, 0], [0, -0.01 / J, k / J], [0, -k / L, -R / L]]), 1 / L  # fmt: skip


@pytest.mark.parametrize("method", [None, jaxspark.methods.Gauss(3)])
def test_a_controller_has_states_of_its_own(method):
    mechanism, A, gain = winding()
    y, z = mechanism.state()
    assert y.shape == (2,) and float(mechanism.coordinates(y)["winding"][0]) == 0.2
    args = mechanism.parameters | {"V": jnp.asarray(2.0)}
    options = TIGHT if method is None else {"method": method, "steps": jaxspark.EqualSteps(140)}
    motion = jaxspark.solve(mechanism.system, y, z, args, t1=0.7, **options)
    whole = np.zeros((4, 4))
    whole[:3, :3], whole[2, 3] = A, gain * 2.0
    q, w, i, _ = scipy.linalg.expm(0.7 * whole) @ [0, 0, 0.2, 1]
    assert largest_difference(jnp.append(motion.y1, motion.z1), np.array([q, i, w])) <= 1e-9


def test_a_controller_on_a_loop():
    """A PI controller holds the crank's velocity; the loop stays closed, gradients are exact."""
    force = mb.Controller(
        "pi", "A", lambda t, q, z, s, args: args["gain"] * (3.0 - z) + 20.0 * s,
        lambda t, q, z, s, args: 3.0 - z,
    )  # fmt: skip
    mechanism = four_bar(forces=[force])
    y, z = mechanism.state({"A": 0.5, "pi": 0.1}, {"A": 3.0})
    assert float(mechanism.coordinates(y)["pi"][0]) == 0.1

    def end(gain):
        args = mechanism.parameters | {"gain": gain}
        return jaxspark.solve(mechanism.system, y, z, args, t1=0.4, **TIGHT)

    assert float(end(jnp.asarray(5.0)).stats.max_g) <= 1e-15
    value = jax.jit(lambda gain: end(gain).y1[-1])
    reverse = float(jax.jit(jax.grad(value))(jnp.asarray(5.0)))
    forward = float(jax.jit(jax.jacfwd(value))(jnp.asarray(5.0)))
    h = 1e-4
    difference = float(value(jnp.asarray(5.0 + h)) - value(jnp.asarray(5.0 - h))) / (2 * h)
    assert abs(reverse - forward) <= 1e-10 * abs(reverse)
    assert abs(reverse - difference) <= 1e-6 * abs(reverse)


ERRORS = {
    "stiffness of 'b' must be six finite numbers": lambda: mb.Bushing(
        "b", "ground", "block", stiffness=(1, 2, 3)
    ),
    "bodies of 'f' must be names": lambda: mb.BodyForce("f", "block", print),
    "must return a force and a torque for each": lambda: moved(
        mb.BodyForce("f", ["block"], lambda t, at, v, args: [(at[0][0, :3],)])
    ),
    "smooth of 'c' must be a positive number": lambda: mb.PenaltyContact(
        "c", "ground", "block", mb.Sphere(1), stiffness=1, smooth=0
    ),
    "shape of 'c' must be a Sphere": lambda: mb.PenaltyContact(
        "c", "ground", "block", "ball", stiffness=1
    ),
    "start of 'k' must be a vector": lambda: mb.Controller(
        "k", "a", print, print, start=np.zeros((2, 2))
    ),
    "derivative of 'k' must be a function": lambda: mb.Controller("k", "a", print, 3),
    "is no force element": lambda: moved(BLOCK),
}


def moved(force):
    mechanism = mb.Mechanism([BLOCK], [FREE], forces=[force])
    jaxspark.solve(mechanism.system, *mechanism.state(), mechanism.parameters, t1=0.1)


@pytest.mark.parametrize("words", ERRORS)
def test_errors(words):
    with pytest.raises((ValueError, TypeError), match=words):
        ERRORS[words]()
