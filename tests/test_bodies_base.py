"""Regressors of inertial parameters and their base: known numbers, forces, loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from helpers import thorough
from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, open_chain, rod, START


def random_motion(mechanism, count=40, seed=0):
    rng = np.random.default_rng(seed)
    tree = mechanism.tree
    return [jnp.asarray(rng.normal(size=(count, n))) for n in (tree.ny, tree.nz, tree.nz)]


def planar_arm():
    return mb.Mechanism(
        [rod("upper", 1.0, 0.5), rod("lower", 0.8, 0.4)],
        [
            mb.Revolute("shoulder", "ground", "upper"),
            mb.Revolute("elbow", "upper", "lower", position=(0.5, 0)),
        ],
        gravity=(0, -9.81, 0),
    )


def serial_arm(axes, places):
    """Bodies of any inertia on hinges."""
    rng, bodies, joints = np.random.default_rng(1), [], []
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        inertia = (1.0, 1.2, 1.3)
        bodies.append(mb.Body(f"{k}", 1.0 + k, com=rng.normal(size=3), inertia=inertia))
        parent = "ground" if k == 0 else f"{k - 1}"
        joints.append(mb.Revolute(f"j{k}", parent, f"{k}", axis=axis, position=place))
    return mb.Mechanism(bodies, joints)


X, Y, Z = np.eye(3)


def puma():
    """The geometry of a Puma 560: a spherical wrist on two parallel axes."""
    places = [(0, 0, 0), (0, 0.15, 0), (0.43, -0.02, 0), (0.02, 0, 0.43), (0, 0, 0), (0, 0, 0)]
    return serial_arm([Z, Y, Y, Z, Y, Z], places)


def universal_robot():
    """Three parallel axes, and no two of the last that meet in the same point."""
    places = [(0, 0, 0.1), (0, 0.13, 0), (0.4, -0.1, 0), (0.4, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    return serial_arm([Z, Y, Y, Y, Z, Y], places)


def iiwa():
    """Seven axes, each perpendicular to the next."""
    places = [(0, 0, 0.15), (0, 0, 0.2), (0, 0.2, 0), (0, 0, 0.2), (0, 0.18, 0), (0, 0, 0.2),
              (0, 0.08, 0)]  # fmt: skip
    return serial_arm([Z, Y, Z, Y, Z, Y, Z], places)


def test_regressor_gives_inverse_dynamics():
    """Of a free body, a ball, a hinge and a slide; against the equations of motion."""
    chain = open_chain()
    bare = mb.Mechanism(chain.tree.bodies, chain.tree.joints)
    args = jax.tree.map(lambda x: x, bare.parameters)
    for joint in args["joints"].values():
        joint |= {"damping": 0 * joint["damping"], "stiffness": 0 * joint["stiffness"]}
        joint["armature"] = 0.3 + 0 * joint["armature"]
    y, z = bare.state({"hinge": 0.4, "slide": 0.2}, START)
    u = jnp.asarray(np.random.default_rng(0).normal(size=bare.tree.nz))
    evaluate = jax.jit(bare.system.accelerations)
    of = evaluate(jnp.zeros(()), y, z, jnp.ones(()), args)
    regressor = mb.regressor(bare, y, z, u, args=args, joints=("armature",))
    base = mb.base_parameters(bare, y[None], z[None], u[None], args=args, joints=("armature",))
    assert regressor.shape == (bare.tree.nz, len(base.names)) and base.names[-1] == "slide.armature"
    assert np.max(np.abs(base.regressor @ base.of(args) - (of.M @ u - of.h))) <= 1e-12 * 50
    values = np.asarray(_standard(bare, args, base.names))
    assert np.max(np.abs(regressor @ values - (of.M @ u - of.h))) <= 1e-12 * 50


def _standard(mechanism, args, names):
    """By their definition, body by body."""
    out = []
    for name in names:
        body, _, what = name.rpartition(".")
        if what == "armature":
            out.append(0.3)
            continue
        own = {key: np.asarray(x) for key, x in args["bodies"][body].items()}
        m, c = own["mass"], own["com"]
        about = own["inertia"] + m * (c @ c * np.eye(3) - np.outer(c, c))
        axes = ["xyz".index(x) for x in what[1:]]
        out.append(m if what == "m" else m * c[axes[0]] if what[0] == "m" else about[tuple(axes)])
    return out


def test_planar_arm_has_the_base_of_textbooks():
    """Khalil & Dombre: of two links in a plane, with the second mass on the first link's end."""
    arm = planar_arm()
    base = mb.base_parameters(arm, *random_motion(arm))
    assert base.words == (
        "upper.mx + 0.5 lower.m", "upper.my", "upper.Izz + 0.25 lower.m", "lower.mx", "lower.my",
        "lower.Izz",
    )  # fmt: skip
    expected = [0.25 + 0.4, 0, 0.25 / 3 + 0.2, 0.16, 0, 0.8 * 0.16 / 3]
    assert np.max(np.abs(np.asarray(base.of()) - expected)) <= 1e-15
    assert "lower.m" not in base.without_effect and "upper.m" in base.without_effect
    assert repr(base).startswith("The motions can identify 6 combinations of 20 parameters")


@pytest.mark.parametrize(
    ("make", "rank"),
    [(puma, 36), thorough(universal_robot, 36), thorough(iiwa, 43)],
)
def test_arms_have_as_many_as_is_known(make, rank):
    """Gautier & Khalil: 36 of a Puma; of n hinges, none parallel to its neighbour, 7 n - 6."""
    arm = make()
    y, z, u = random_motion(arm)
    base = mb.base_parameters(arm, y, z, u)
    assert base.rank == rank and base.condition < 100
    full = mb.regressor(arm, y, z, u).reshape(len(base.regressor), -1)
    forces = np.asarray(full) @ _standard(arm, arm.parameters, base.names)
    off = base.regressor @ np.asarray(base.of()) - forces
    assert np.max(np.abs(off)) <= 1e-10 * np.max(np.abs(forces))


def test_a_motion_tells_less_than_random_ones():
    """Of an arm whose second joint does not move, and without weight."""
    arm = planar_arm()
    y, z, u = random_motion(arm)
    still = jnp.array([[1.0, 0.0]])
    args = arm.parameters | {"gravity": jnp.zeros(3)}
    base = mb.base_parameters(arm, still * y, still * z, still * u, args=args)
    # tau_1 by acceleration; tau_2 by acceleration and by the square of the velocity.
    assert base.rank == 3
    free = mb.base_parameters(arm, y, z)
    assert free.rank == 5, "without known forces, one is the unit of the others"


def test_parameters_of_joints():
    arm = planar_arm()
    joints = ("armature", "damping", "friction")
    base = mb.base_parameters(arm, *random_motion(arm), joints=joints)
    assert base.rank == 6 + 5, "the first armature is part of the first inertia"
    assert any("shoulder.armature" in x and "upper.Izz" in x for x in base.words)
    alone = mb.base_parameters(arm, *random_motion(arm), bodies=["lower"])
    assert len(alone.names) == 10 and alone.rank == 4, "the mass of the lower one acts, too"


def four_bar_by_hand(count=24):
    """Coordinates of a four-bar that turns evenly, rates, accelerations; what energies depend on.

    With lengths .3, 1 and .8, and pivots 1 m apart; points are complex numbers.
    """
    y, z, u, rows = [], [], [], []
    for number, angle in enumerate(np.linspace(0.1, 6.3, count)):
        C = 0.3 * np.exp(1j * angle)
        # The coupler's end is a metre from the crank's, and .8 from the other pivot: either way.
        d, sign = 1 - C, (-1) ** number
        along = (1 - 0.64 + abs(d) ** 2) / (2 * abs(d))
        E = C + d / abs(d) * (along + sign * 1j * np.sqrt(1 - along**2))
        b, r = E - C, E - 1
        # i C + i b wb = i r wr
        wb, wr = np.linalg.solve([[b.real, -r.real], [b.imag, -r.imag]], [-C.real, -C.imag])
        # - C - b wb^2 + i b wb' = - r wr^2 + i r wr'
        left = C + b * wb**2 - r * wr**2
        bb, rr = np.linalg.solve([[-b.imag, r.imag], [b.real, -r.real]], [left.real, left.imag])
        y.append({"A": angle, "B": np.angle(b) - angle, "D": np.angle(r)})
        z.append({"A": 1.0, "B": wb - 1, "D": wr})
        u.append({"A": 0.0, "B": bb, "D": rr})
        rows += _of_energies([(0j, np.exp(1j * angle), 1.0), (1j * C, b, wb), (0j, r / 0.8, wr)])
    return y, z, u, np.array(rows)


def test_loops_leave_fewer():
    """The rank of what energies depend on; and the power, which reactions have no part in."""
    fb, rng = four_bar(), np.random.default_rng(0)
    *states, rows = four_bar_by_hand()
    order = [name for name, _ in sorted(fb._at.items(), key=lambda x: x[1][0][0])]
    y, z, u = (jnp.asarray([[x[name] for name in order] for x in of]) for of in states)
    assert np.max(np.abs(_residuals(fb, y))) <= 1e-14
    u = u + z * jnp.asarray(rng.normal(size=(len(y), 1)))  # as a drive turns it
    base = mb.base_parameters(fb, y, z, u)
    size = np.linalg.svd(rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-300))[1]
    assert base.rank == int(np.sum(size > 1e-9 * size[0]))
    full = np.asarray(mb.regressor(fb, y, z, u))
    power = np.einsum("ti,tip->tp", z, full) @ _standard(fb, fb.parameters, base.names)
    reduced = (base.regressor @ np.asarray(base.of())).reshape(len(y), -1)
    expected = np.abs(power) / np.linalg.norm(z, axis=1)
    assert np.max(np.abs(np.linalg.norm(reduced, axis=1) - expected)) <= 1e-12 * np.max(expected)


def _residuals(mechanism, y):
    of = lambda y: mechanism.system.g(jnp.zeros(()), y, mechanism.parameters)
    return jax.jit(jax.vmap(of))(y)


def _of_energies(bodies):
    """Of m, mx, my, Izz of each: in the reduced inertia, and in the weight's power."""
    inertia, power = [], []
    for velocity, e, w in bodies:
        across = [1j * w * e, -w * e]  # velocities of points at x = 1, y = 1, relative
        inertia += [
            abs(velocity) ** 2,
            *(2 * (velocity.conjugate() * x).real for x in across),
            w**2,
        ]
        power += [velocity.imag, *(x.imag for x in across), 0.0]
    return [inertia, power]


@pytest.mark.thorough
def test_derivatives_and_single_precision():
    arm = planar_arm()
    y, z, u = (x[0] for x in random_motion(arm))
    base = mb.base_parameters(arm, *random_motion(arm))
    slope = jax.grad(lambda args: base.of(args)[2])(arm.parameters)
    assert float(slope["bodies"]["lower"]["mass"]) == pytest.approx(0.25)
    step = lambda y: mb.regressor(arm, y, z, u)
    forward, reverse = jax.jacfwd(step)(y), jax.jit(jax.jacrev(step))(y)
    assert np.max(np.abs(forward - reverse)) <= 1e-13
    shift = 1e-6 * jnp.array([1.0, 0.0])
    differences = (step(y + shift) - step(y - shift)) / 2e-6
    assert np.max(np.abs(differences - forward[..., 0])) <= 1e-8
    single = [x.astype(jnp.float32) for x in random_motion(arm)]
    args = jax.tree.map(lambda x: x.astype(jnp.float32), arm.parameters)
    assert mb.base_parameters(arm, *single, args=args).rank == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies": ["hand"]}, "'hand' is none of the bodies"),
        ({"joints": ["stiffness"]}, "joints has 'stiffness'"),
        ({"z": jnp.zeros((3, 2))}, "z has shape \\(3, 2\\); .* \\(40, 2\\)"),
        ({"u": jnp.full((40, 2), jnp.nan)}, "u is not finite"),
    ],
)
def test_what_is_refused(change, message):
    arm = planar_arm()
    given = dict(zip("yzu", random_motion(arm), strict=True)) | change
    with pytest.raises(ValueError, match=message):
        mb.base_parameters(arm, **given)
