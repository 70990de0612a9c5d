"""Dry friction in joints by their reactions, against closed forms and equations written by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxspark
from benchmarks.core._gradients import differences, relative
from helpers import largest_difference
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar


MASS, LENGTH, INERTIA, GRAVITY = 1.3, 0.8, 0.2, 9.81
DRY = {"slip_width": 0.3, "load_floor": 0.5}


def pendulum(coefficient=0.4, radius=0.1):
    """A rod on a pin, with its angle from the vertical as the third coordinate."""
    return mb.Mechanism(
        [mb.Body("rod", MASS, com=(0, -LENGTH, 0), inertia=INERTIA)],
        [mb.Planar("motion", "ground", "rod"), mb.Revolute("pin", "ground", "rod")],
        forces=[mb.JointFriction("dry", "pin", coefficient, radius=radius, **DRY)],
        gravity=(0, -GRAVITY, 0),
    )  # fmt: skip


def by_hand(coefficient, radius, angle, rate, t1):
    """The same by its equation of motion, in which the load depends on the acceleration."""

    def excess(second, angle, rate):
        along = -MASS * LENGTH * rate**2 - MASS * GRAVITY * np.cos(angle)
        across = MASS * LENGTH * second + MASS * GRAVITY * np.sin(angle)
        load = np.sqrt(along**2 + across**2 + DRY["load_floor"] ** 2)
        torque = coefficient * radius * load * rate / np.sqrt(rate**2 + DRY["slip_width"] ** 2)
        own = (INERTIA + MASS * LENGTH**2) * second
        return own + MASS * GRAVITY * LENGTH * np.sin(angle) + torque

    def rates(t, y):
        return y[1], brentq(excess, -200, 200, args=tuple(y), xtol=1e-14, rtol=1e-14)

    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}
    return solve_ivp(rates, (0, t1), (angle, rate), **options).y[:, -1]


def swing(mechanism, args, start=None, t1=1.0, **options):
    start = mechanism.state({"motion": [None, None, 1.2]}) if start is None else start
    return jaxspark.solve(mechanism.system, *start, args, t1=t1, **options)


def test_a_pendulum_on_a_dry_pin():
    made = pendulum()
    motion = swing(made, made.parameters, rtol=1e-9, atol=1e-9)
    assert motion.method.startswith("Lobatto(stages=3)") and motion.stats.max_g <= 1e-14
    angle, rate = by_hand(0.4, 0.1, 1.2, 0.0, 1.0)
    assert abs(float(motion.y1[2]) - angle) <= 1e-7
    assert abs(float(motion.z1[2]) - rate) <= 1e-7


def test_results_balance():
    """What the pin exerts: the load, and friction of this load; with weight it is the motion."""
    made = pendulum()
    y, z = made.state({"motion": [None, None, 0.7]}, {"motion": [None, None, -1.5]})
    found = eqx.filter_jit(made.results)((0.0, y, z))
    pin, rod = found.transmitted["pin"], found.bodies["rod"]
    weight = jnp.array([0.0, -GRAVITY * MASS, 0.0])
    assert np.allclose(pin.force + weight, MASS * rod.com_acceleration, rtol=0, atol=1e-12)
    torque = jaxspark.dry_friction(-1.5, pin.force, 0.4 * 0.1, **DRY)
    assert np.allclose(pin.torque, [0, 0, torque], rtol=0, atol=1e-12) and torque > 0.3
    assert np.allclose(found.reactions["pin"].torque, 0, atol=1e-12)
    about = jnp.cross(rod.com, weight)[2] + torque
    spin = (INERTIA + MASS * LENGTH**2) * rod.angular_acceleration[2]
    assert abs(float(spin - about)) <= 1e-12


@pytest.mark.parametrize("other", [False, True])
def test_a_block_slides_down_a_rail(other):
    """With a constant acceleration, whichever of the bodies is the child."""
    slope, coefficient, speed, t1 = 0.4, 0.3, 2.0, 0.5
    ends = ("block", "ground") if other else ("ground", "block")
    made = mb.Mechanism(
        [mb.Body("block", 2.0, inertia=0.1)],
        [
            mb.Free("free", "ground", "block"),
            mb.Prismatic("rail", *ends, axis=(np.cos(slope), 0, -np.sin(slope))),
        ],
        forces=[mb.JointFriction("dry", "rail", coefficient, slip_width=1e-3, load_floor=1e-3)],
    )  # fmt: skip
    along = np.array([np.cos(slope), 0, -np.sin(slope)])
    y, z = made.state(velocities={"free": [*(speed * along), 0, 0, 0]})
    motion = jaxspark.solve(made.system, y, z, made.parameters, t1=t1)
    rate = GRAVITY * (np.sin(slope) - coefficient * np.cos(slope))
    assert abs(float(along @ motion.y1[:3]) - (speed * t1 + 0.5 * rate * t1**2)) <= 1e-6


def test_a_hanging_ball_spins_down():
    """About an axis that is none of the coordinates; its load is its weight."""
    radius, coefficient, rate, t1 = 0.05, 0.2, 4.0, 0.4
    made = mb.Mechanism(
        [mb.Body("ball", 1.5, inertia=0.1)],
        [mb.Free("free", "ground", "ball"), mb.Spherical("socket", "ground", "ball")],
        forces=[
            mb.JointFriction(
                "dry", "socket", coefficient, radius=radius, slip_width=1e-3, load_floor=1e-3
            )
        ],
    )  # fmt: skip
    axis = np.array([2.0, -1.0, 2.0]) / 3
    y, z = made.state(velocities={"free": [0, 0, 0, *(rate * axis)]})
    motion = jaxspark.solve(made.system, y, z, made.parameters, t1=t1)
    slower = coefficient * radius * 1.5 * GRAVITY * t1 / 0.1
    assert np.allclose(motion.z1[3:], (rate - slower) * axis, rtol=0, atol=1e-6)


def test_a_planar_loop_and_a_batch_of_it():
    """Some equations of the loop say nothing, and the load is that in the plane."""
    made = four_bar(forces=[mb.JointFriction("dry", "C", 0.3, radius=0.05, **DRY)])
    y, z = made.state({"A": 0.5}, {"A": 2.0})
    found = made.results((0.0, y, z))
    pin, slip = found.transmitted["C"], found.joints["C"].velocities[0]
    torque = jaxspark.dry_friction(slip, pin.force, 0.3 * 0.05, **DRY)
    assert np.allclose(pin.torque, [0, 0, torque], rtol=0, atol=1e-12) and abs(torque) > 0.1

    def end(coefficient):
        args = jax.tree.map(lambda x: x, made.parameters)
        args["forces"]["dry"]["coefficient"] = coefficient
        return jaxspark.solve(made.system, y, z, args, t1=0.2, throw=False).y1

    several = jnp.array([0.1, 0.4])
    batch = jax.vmap(end)(several)
    assert largest_difference(batch, jnp.stack([end(x) for x in several])) <= 1e-13
    assert abs(float(batch[1, 0] - batch[0, 0])) > 1e-3


def test_gradients():
    """By the coefficient, the radius and a mass: forward, reverse, and differences."""
    made = pendulum()
    start = made.state({"motion": [None, None, 1.2]})

    def end(x):
        args = jax.tree.map(lambda x: x, made.parameters)
        args["forces"]["dry"] |= {"coefficient": x[0], "radius": x[1]}
        args["bodies"]["rod"]["mass"] = x[2]
        return swing(made, args, start, 0.5, steps=jaxspark.EqualSteps(40)).y1[2]

    at = jnp.array([0.4, 0.1, MASS])
    forward, reverse = jax.jit(jax.jacfwd(end))(at), jax.jit(jax.jacrev(end))(at)
    assert relative(forward, reverse) <= 1e-9
    assert relative(forward, differences(jax.jit(end), at)) <= 1e-7


def test_errors():
    rod = mb.Body("rod", 1.0, inertia=1.0)
    joints = [mb.Planar("motion", "ground", "rod"), mb.Revolute("pin", "ground", "rod")]
    numbers = {"slip_width": 0.1, "load_floor": 0.1}

    def made(joints=joints, **options):
        of = {"joint": "pin", "coefficient": 0.1, "radius": 0.1, **numbers, **options}
        return mb.Mechanism([rod], joints, forces=[mb.JointFriction("dry", **of)])

    for options, words in (
        ({"joint": "pim"}, "'dry' is in 'pim', which is none of the joints"),
        ({"joint": "motion"}, "needs a Revolute, Spherical or Prismatic joint"),
        ({"radius": None}, r"turns, and needs a radius"),
        ({"coefficient": -0.1}, "coefficient of 'dry' must be a positive number; got -0.1"),
        ({"slip_width": 0.0}, "slip_width of 'dry' must be a positive number; got 0"),
        ({"joints": joints[1:]}, "or whose joints are cut or have friction, needs Free"),
        (
            {"joints": [joints[0], mb.Prismatic("pin", "ground", "rod")]},
            "slides, and has no radius",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            made(**options)
    with pytest.raises(ValueError, match="needs the reaction of its joint"):
        made().by_bodies()
    made = pendulum()
    with pytest.raises(ValueError, match=r"DOP853\(\) is for constraints whose forces are ideal"):
        swing(made, made.parameters, method=jaxspark.DOP853())


def sticking():
    """A rod that hangs nearly straight down on a pin that nearly holds it."""
    return mb.Mechanism(
        [mb.Body("rod", 1.0, com=(0.5, 0), inertia=1 / 12)],
        [mb.Planar("motion", "ground", "rod"), mb.Revolute("pin", "ground", "rod")],
        forces=[mb.JointFriction("dry", "pin", 1.0, radius=0.2, slip_width=1e-4, load_floor=0.01)],
        gravity=(0, -GRAVITY, 0),
    )  # fmt: skip


def test_newton_sees_friction_whose_load_it_has_yet_to_find():
    """Of small steps the first iteration, without a load, is not taken for the last."""
    made = sticking()
    start = made.state({"motion": [None, None, -np.pi / 2 + 0.05]})
    motion = swing(made, made.parameters, start, t1=0.2, method=jaxspark.GGL(jaxspark.RadauIIA(3)))
    # The torque of the weight is that of friction, which grows with the rate.
    needed = 0.5 * GRAVITY * np.sin(0.05) / (0.2 * np.hypot(GRAVITY, 0.01))
    rate = -1e-4 * needed / np.sqrt(1 - needed**2)
    np.testing.assert_allclose(motion.z1[2], rate, rtol=1e-3)


def test_a_model_takes_a_method_for_friction():
    made = sticking()
    record = jaxspark.fit.record(np.linspace(0, 1, 5), {"q:motion:2": np.linspace(0, 1, 5)})
    found = mb.model(made, record, ["forces/dry/coefficient"])
    assert found.method == jaxspark.Lobatto(3)


@pytest.mark.parametrize("own", [{"damping": 0.1}, {"armature": 0.1}, {"cut": False}])
def test_what_a_joint_with_friction_cannot_have(own):
    with pytest.raises(ValueError, match="'pin'.*has a JointFriction.*such as the Planar or Free"):
        mb.Mechanism(
            [mb.Body("rod", 1.0)],
            [mb.Planar("motion", "ground", "rod"), mb.Revolute("pin", "ground", "rod", **own)],
            forces=[mb.JointFriction("dry", "pin", 1.0, radius=0.2, **DRY)],
        )
