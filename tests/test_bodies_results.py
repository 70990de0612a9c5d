"""Results by name: motions, energies, and the forces that joints transmit."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, open_chain, START
from test_bodies_load import indices, ROBOT


def numbers(tree):
    return jax.tree.map(np.asarray, tree)


linkage = functools.cache(four_bar)


def test_reactions_and_accelerations_are_those_of_mujoco():
    # Of a free body, two joints in a row, a body that is welded to a link, and a ball; with motors.
    model = mujoco.MjModel.from_xml_string(ROBOT)
    mechanism = mb.load(model)
    of_y, of_z = indices(model, mechanism)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), [0.3, 0.1, -0.4]
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    y, z = np.zeros(model.nq), np.zeros(model.nv)
    y[of_y], z[of_z] = data.qpos, data.qvel
    args = mechanism.parameters | {"control": {"m": 0.3, "p": 0.1, "v": -0.4}}
    found = numbers(mechanism.results((0.0, y, z), args))
    joint_of = {"arm": "lift", "box": "box is fixed", "hand": "wrist"}
    for body in ("base", "arm", "box", "hand"):
        number, of = model.body(body).id, found.bodies[body]
        assert np.max(np.abs(of.position - data.xpos[number])) <= 1e-13
        assert np.max(np.abs(of.com - data.xipos[number])) <= 1e-13
        assert np.max(np.abs(of.rotation.ravel() - data.xmat[number])) <= 1e-13
        assert abs(abs(of.quaternion @ data.xquat[number]) - 1) <= 1e-13
        both = np.zeros(6)
        kind = mujoco.mjtObj.mjOBJ_XBODY
        mujoco.mj_objectVelocity(model, data, kind, number, both, 0)
        assert np.max(np.abs(np.append(of.angular_velocity, of.velocity) - both)) <= 1e-12
        mujoco.mj_objectAcceleration(model, data, kind, number, both, 0)
        acceleration = of.acceleration - model.opt.gravity
        assert np.max(np.abs(np.append(of.angular_acceleration, acceleration) - both)) <= 1e-10
        if body in joint_of:
            wrench = found.transmitted[joint_of[body]]
            joint = mechanism.parameters["joints"][joint_of[body]]
            at = of.position + of.rotation @ joint["child_position"]
            centre = data.subtree_com[model.body_rootid[number]]
            torque = wrench.torque + np.cross(at - centre, wrench.force)
            both = np.append(torque, wrench.force)
            assert np.max(np.abs(both - data.cfrc_int[number])) <= 1e-11 * np.max(np.abs(both))
    for name in ("root", "wrist"):
        assert np.max(np.abs(found.reactions[name].torque)) <= 1e-12, "nothing holds these turns"
    assert np.max(np.abs(found.transmitted["root"].force)) <= 1e-12
    assert abs(found.motors["m"] - 0.9) <= 1e-15 and set(found.motors) == {"m", "p", "v"}
    accelerations = np.concatenate([found.joints[j].accelerations for j in mechanism._at])
    expected = np.concatenate([data.qacc[of_z.argsort()][at] for _, at in mechanism._at.values()])
    assert np.max(np.abs(accelerations - expected)) <= 1e-11 * np.max(np.abs(expected))


def four_bar_by_newton(of, gravity=9.81):
    """Forces at the pivots A, B, C and D on the children, of nine equations and eight of pivots."""
    masses, lengths = np.array([1.0, 1.5, 2.0]), np.array([0.3, 1.0, 0.8])
    angle = [np.arctan2(x.rotation[1, 0], x.rotation[0, 0]) for x in of]
    rate = [x.angular_velocity[2] for x in of]
    # Of each pivot a body and how far along it: what is second, less what is first.
    pivots = [
        [(1, 0, 0.0)],
        [(-1, 0, 0.3), (1, 1, 0.0)],
        [(-1, 1, 1.0), (1, 2, 0.8)],
        [(1, 2, 0.0)],
    ]
    G, bias = np.zeros((8, 9)), np.zeros(8)
    for row, pivot in enumerate(pivots):
        for sign, body, at in pivot:
            s = at - lengths[body] / 2
            e = np.array([np.cos(angle[body]), np.sin(angle[body])])
            two = slice(2 * row, 2 * row + 2)
            G[two, 3 * body : 3 * body + 2] += sign * np.eye(2)
            G[two, 3 * body + 2] += sign * s * np.array([-e[1], e[0]])
            bias[two] -= sign * s * rate[body] ** 2 * e
    M = np.concatenate([[m, m, m * k**2 / 12] for m, k in zip(masses, lengths, strict=True)])
    weight = np.concatenate([[0, -gravity * m, 0] for m in masses])
    K = np.block([[np.diag(M), -G.T], [G, np.zeros((8, 8))]])
    solution = np.linalg.solve(K, np.concatenate([weight, -bias]))
    return solution[:9].reshape(3, 3), solution[9:].reshape(4, 2)


def test_forces_in_a_loop_are_those_of_newton():
    mechanism = linkage()
    states = [mechanism.state({"A": angle}, {"A": 2.0}) for angle in (0.5, 1.0, 2.2)]
    y, z = (jnp.stack(x) for x in zip(*states, strict=True))
    found = numbers(mechanism.results((np.array([0.0, 0.4, 1.0]), y, z)))
    assert found.ts.tolist() == [0.0, 0.4, 1.0] and not found.multipliers
    for k in range(3):
        at = jax.tree.map(lambda x, k=k: x[k], found)
        expected, forces = four_bar_by_newton(
            [at.bodies[x] for x in ("crank", "coupler", "rocker")]
        )
        for body, row in zip(("crank", "coupler", "rocker"), expected, strict=True):
            of = at.bodies[body]
            assert np.max(np.abs(of.com_acceleration[:2] - row[:2])) <= 1e-10
            assert abs(of.angular_acceleration[2] - row[2]) <= 1e-10
        for name, force in zip("ABCD", forces, strict=True):
            # In space, what holds the plane is redundant: of minimum norm it is zero.
            expected = np.append(force, 0.0)
            assert np.max(np.abs(at.reactions[name].force - expected)) <= 1e-9, name
            assert np.max(np.abs(at.reactions[name].torque)) <= 1e-9, name


def loop(cut):
    """A revolute, a universal, a cylindrical and a spherical joint, with nothing redundant."""
    inertia = [[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]
    spot = {"position": (0.4, 0.1, -0.2), "child_position": (-0.1, 0.3, 0.1)}
    turned = {"quaternion": (0.8, 0.1, 0.5, -0.2), "child_quaternion": (1, 0.3, 0, 0.1)}
    options = {name: spot | turned | {"cut": True if name == cut else None} for name in "RUCS"}
    return mb.Mechanism(
        [mb.Body(name, 1.0, com=(0.1, -0.2, 0.05), inertia=inertia) for name in "abc"],
        [
            mb.Revolute("R", "ground", "a", axis=(1, 2, 0), **options["R"]),
            mb.Universal("U", "a", "b", axis=(1, 1, 0), second=(0, 0, 1), **options["U"]),
            mb.Cylindrical("C", "b", "c", axis=(0, 1, 1), **options["C"]),
            mb.Spherical("S", "ground", "c", **options["S"]),
        ],
        forces=[mb.Spring("rope", "a", "c", at_first=(1, 1, 1), stiffness=20.0, damping=2.0)],
    )


def test_results_do_not_depend_on_where_a_loop_is_cut():
    reference = loop("S")
    y, z = reference.state({"R": 0.3}, {"R": 0.7})
    expected = numbers(reference.results((0.0, y, z)))
    for cut in "RUC":
        mechanism = loop(cut)
        known = {k: v for k, v in expected.joints.items() if k != cut}
        state = mechanism.state(
            {k: v.coordinates for k, v in known.items()},
            {k: v.velocities for k, v in known.items()},
        )
        found = numbers(mechanism.results((0.0, *state)))
        for name, x in expected.joints.items():
            if name == "S" and x.coordinates @ found.joints["S"].coordinates < 0:
                x = x._replace(coordinates=-x.coordinates)
            for ours, theirs in zip(found.joints[name], x, strict=True):
                assert np.max(np.abs(ours - theirs)) <= 1e-10 * (1 + np.max(np.abs(theirs)))
        for what in ("bodies", "reactions", "transmitted", "potential"):
            pairs = getattr(found, what), getattr(expected, what)
            assert largest_difference(*pairs) <= 1e-9, (cut, what)


def test_forces_on_each_body_add_up_and_joints_do_no_work():
    mechanism = open_chain()
    y, z = mechanism.state({"ball": [0.8, 0.1, 0.5, -0.2], "hinge": 0.4}, START)
    found = numbers(mechanism.results((0.3, y, z)))
    gravity = np.array([0, 0, -9.81])
    ends = {joint.name: joint for joint in mechanism.tree.joints}
    drag = -0.2 * _velocity(found.bodies["plate"], [0, 0.3, 0])
    near, far = np.ones(3), found.bodies["mass"].position
    apart = near - far
    pull = 20.0 * (np.linalg.norm(apart) - 0.5) * apart / np.linalg.norm(apart)
    outside = {"plate": drag, "mass": pull}
    for body in mechanism.tree.bodies:
        total = body.mass * gravity + outside.get(body.name, 0)
        for name, wrench in found.transmitted.items():
            side = (ends[name].child == body.name) - float(ends[name].parent == body.name)
            total = total + side * wrench.force
        needs = body.mass * found.bodies[body.name].com_acceleration
        assert np.max(np.abs(total - needs)) <= 1e-12 * np.max(np.abs(needs)), body
    power, whole = (_power(mechanism, found, x) for x in (found.reactions, found.transmitted))
    assert all(abs(x) <= 1e-12 for x in power.values()), power
    # Damper, spring, motor and armature along the axis of the hinge.
    hinge = found.joints["hinge"]
    torque = np.sin(0.9) - 0.1 * hinge.velocities - 3.0 * (hinge.coordinates - 0.2)
    torque = torque - 0.05 * hinge.accelerations
    assert abs(whole["hinge"] - (torque * hinge.velocities)[0]) <= 1e-11
    assert abs(found.motors["drive"][0] - np.sin(0.9) + 0.1 * hinge.velocities[0]) <= 1e-15


def _velocity(body, at):
    arm = body.rotation @ np.asarray(at)
    return body.velocity + np.cross(body.angular_velocity, arm)


def _power(mechanism, found, wrenches):
    """Of each wrench along the motion of its child relative to its parent."""
    still = jax.tree.map(np.zeros_like, found.bodies["base"])
    out = {}
    for joint in mechanism.tree.joints:
        child, parent = found.bodies[joint.child], found.bodies.get(joint.parent, still)
        point = child.position + child.rotation @ joint.child_position
        speed = _velocity(child, joint.child_position)
        speed = speed - parent.velocity - np.cross(parent.angular_velocity, point - parent.position)
        turn = child.angular_velocity - parent.angular_velocity
        force, torque = wrenches[joint.name]
        out[joint.name] = force @ speed + torque @ turn
    return out


def test_axes_of_forces():
    mechanism = open_chain()
    y, z = mechanism.state({"ball": [0.8, 0.1, 0.5, -0.2], "hinge": 0.4}, START)
    found = {frame: numbers(mechanism.results((0.3, y, z), frame=frame)) for frame in FRAMES}
    ground = found["ground"].transmitted["ball"]
    bodies = found["ground"].bodies
    of_joint = np.asarray(mechanism.parameters["joints"]["ball"]["quaternion"])
    axes = {"parent": bodies["base"].rotation, "child": bodies["arm"].rotation}
    axes["joint"] = bodies["base"].rotation @ _matrix(of_joint)
    for frame, R in axes.items():
        for ours, theirs in zip(found[frame].transmitted["ball"], ground, strict=True):
            assert np.max(np.abs(R @ ours - theirs)) <= 1e-13, frame
    # A revolute joint holds all but the torque about its axis.
    axis = np.array([1, 2, -1]) / np.sqrt(6)
    assert abs(axis @ found["joint"].reactions["hinge"].torque) <= 1e-13


FRAMES = ("ground", "joint", "parent", "child")


def _matrix(q):
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, q)
    return out.reshape(3, 3)


def test_constraints_beside_joints_hold_their_bodies():
    # What a free joint transmits is nothing: what constraints exert is what bodies need.
    ball = mb.Body("ball", 2.0, inertia=0.1)
    pin = mb.Body("pin", 1.0, com=(0.1, 0.2, 0), inertia=(0.1, 0.2, 0.15))
    mechanism = mb.Mechanism(
        [ball, pin, mb.Body("cap", 0.3, com=(0, 0, 0.1), inertia=0.01)],
        [
            mb.Free("of ball", "ground", "ball"),
            mb.Free("of pin", "ground", "pin"),
            mb.Weld("cap is fixed", "pin", "cap", position=(0, 0, 0.3)),
        ],
        constraints=[
            mb.Distance("bar", "ball", "cap", at_second=(0, 0.1, 0), length=1.0),
            mb.Rolling("contact", "ground", "ball", mb.Sphere(0.3)),
        ],
    )
    y, z = mechanism.state(
        {"of ball": [0, 0, 0.3, 1, 0, 0, 0]}, {"of ball": [0.3, 0, 0, 0, 1, 0.4]},
        guess={"of pin": [0.9, 0, 0.5, 1, 0, 0, 0]},
    )  # fmt: skip
    found = numbers(mechanism.results((0.0, y, z)))
    for name in ("of ball", "of pin"):
        assert np.max(np.abs(np.concatenate(found.transmitted[name]))) <= 1e-12
    cap = found.bodies["cap"]
    second = cap.position + cap.rotation @ [0, 0.1, 0]
    along = second - found.bodies["ball"].position
    tension = -0.3 * np.array([0, 0, -9.81]) + 0.3 * cap.com_acceleration
    rod = tension - found.transmitted["cap is fixed"].force
    assert np.max(np.abs(np.cross(rod, along))) <= 1e-12, "a bar pulls along itself"
    assert found.multipliers["bar"].shape == (1,) and set(found.multipliers) == {"bar", "contact"}


def test_a_gear_has_a_multiplier():
    gears = mb.Mechanism(
        [mb.Body("small", 0.5, inertia=0.01), mb.Body("large", 4.0, inertia=0.9)],
        [mb.Revolute("a", "ground", "small"), mb.Revolute("b", "ground", "large")],
        constraints=[mb.Coupling("teeth", "a", "b", polynomial=(0.0, -3.0))],
        forces=[mb.Motor("motor", "a", lambda t, q, z, args: 2.0)],
    )
    found = gears.results((0.0, jnp.array([-0.3, 0.1]), jnp.zeros(2)))
    rate = 2.0 / (0.01 + 0.9 / 9)
    assert abs(found.joints["a"].accelerations[0] - rate) <= 1e-13
    # I u = torque - mu: the multiplier is of the equation a + 3 b = 0.
    assert abs(found.multipliers["teeth"][0] - (2.0 - 0.01 * rate)) <= 1e-13
    assert found.motors["motor"].tolist() == [2.0]


def test_energy_has_springs_between_points():
    def hung(law):
        return mb.Mechanism(
            [mb.Body("mass", 2.0)],
            [mb.Prismatic("slide", "ground", "mass")],
            forces=[mb.Spring("s", "ground", "mass", at_first=(0, 1, 0), stiffness=30.0, law=law)],
        )

    y, z = jnp.array([2.0]), jnp.array([3.0])
    linear, other = hung(None), hung(lambda distance, rate, args: 30.0 * distance)
    assert abs(linear.energy(y, z)[1] - (2 * 9.81 * 2 + 15.0 * 5)) <= 1e-12
    assert abs(other.energy(y, z)[1] - 2 * 9.81 * 2) <= 1e-12
    found = linear.results((0.0, y, z))
    assert (found.kinetic, found.potential) == linear.energy(y, z)
    power = 2.0 * z[0] * found.joints["slide"].accelerations[0] + 2 * 9.81 * z[0] + 30 * y[0] * z[0]
    assert abs(power) <= 1e-12


def test_batches_are_loops_and_single_precision_is_close():
    mechanism = linkage()
    y, z = mechanism.state({"A": 0.5}, {"A": 2.0})
    run = lambda z: jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=2.0, ts=jnp.linspace(0.0, 2.0, 4)
    )
    motions = jax.vmap(run)(jnp.stack([z, 0.5 * z]))
    both = mechanism.results(motions)
    assert both.bodies["rocker"].rotation.shape == (2, 4, 3, 3)
    assert both.reactions["C"].force.shape == (2, 4, 3) and both.kinetic.shape == (2, 4)
    one = jax.tree.map(lambda x: x[1, 2], (motions.ts, motions.ys, motions.zs))
    alone = mechanism.results(one)
    for what in ("kinetic", "joints", "reactions"):
        parts = jax.tree.map(lambda x: x[1, 2], getattr(both, what)), getattr(alone, what)
        assert largest_difference(*parts) <= 1e-9, what
    q = both.bodies["crank"].quaternion
    assert jnp.min(jnp.sum(q[:, 1:] * q[:, :-1], -1)) >= 0, "no jump to the opposite quaternion"
    single = lambda tree: jax.tree.map(lambda x: x.astype(jnp.float32), tree)
    few = mechanism.results(single(one), single(mechanism.parameters), frame="child")
    assert all(x.dtype == jnp.float32 for x in jax.tree.leaves(few))
    expected = mechanism.results(one, frame="child").reactions
    for name, wrench in few.reactions.items():
        error = np.abs(np.asarray(wrench.force, float) - expected[name].force)
        assert np.max(error) <= 3e-4 * np.max(np.abs(expected[name].force))


def test_derivatives_of_reactions():
    # Of redundant equations, by a mass and by the coordinates along what the loop allows.
    mechanism = linkage()
    y, z = mechanism.state({"A": 0.5}, {"A": 2.0})

    def force(x):
        changed = jax.tree.map(lambda x: x, mechanism.parameters)
        changed["bodies"]["coupler"]["mass"] = x[0]
        found = mechanism.results((0.0, y + 0.0 * x[0], x[1] * z), changed, frame="joint")
        parts = [found.reactions[name].force for name in "BC"]
        return jnp.concatenate([*parts, found.bodies["rocker"].quaternion])

    x = jnp.array([1.5, 1.1])
    forward, backward = jax.jit(jax.jacfwd(force))(x), jax.jit(jax.jacrev(force))(x)
    step = lambda k: 1e-5 * jnp.eye(2)[k]
    differences = [(force(x + step(k)) - force(x - step(k))) / 2e-5 for k in range(2)]
    assert np.max(np.abs(forward - backward)) <= 1e-12 * np.max(np.abs(forward))
    assert np.max(np.abs(forward - np.stack(differences, 1))) <= 1e-8 * np.max(np.abs(forward))


@pytest.mark.parametrize(
    ("solution", "frame", "error", "message"),
    [
        ((0.0, np.zeros(3), np.zeros(3)), "world", ValueError, "ground, joint, parent, child"),
        ((0.0, np.zeros(2), np.zeros(3)), "ground", ValueError, "has y of shape \\(3,\\)"),
        ((np.zeros(2), np.zeros(3), np.zeros(3)), "ground", ValueError, "shape \\(2, 3\\)"),
        (None, "ground", TypeError, "got NoneType"),
    ],
)
def test_what_has_no_results(solution, frame, error, message):
    with pytest.raises(error, match=message):
        linkage().results(solution, frame=frame)
