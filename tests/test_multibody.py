"""Multibody systems: the same motion as that of the plain system with the same equations."""

import functools

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from benchmarks.problems import digits
from helpers import thorough
from jaxspark import ForceElement, Joint, MultibodySystem, RollingJoint
from jaxspark.linear import AcyclicNullSpace
from rods import relative


# Rods `(x, y, angle)`, each hinged to the end of the one before.


def own(args):
    return {key: args[key] for key in ("masses", "lengths", "inertias")}


def mass(t, y, own, args):
    del t, y, args
    return jnp.stack([own["masses"], own["masses"], own["inertias"]])


def force(t, y, z, own, args):
    del t, y, z
    return jnp.stack([jnp.zeros_like(own["masses"]), -own["masses"] * args["gravity"],
                      jnp.zeros_like(own["masses"])])  # fmt: skip


def half(y, length):
    return 0.5 * length * jnp.stack([jnp.cos(y[2]), jnp.sin(y[2])])


def hinge(t, a, b, own, args):
    del t, args
    return a[:2] - half(a, own["this"]) - (b[:2] + half(b, own["before"]))


def of_hinges(args):
    lengths = jnp.asarray(args["lengths"])
    return {"this": lengths, "before": jnp.append(0 * lengths[:1], lengths[:-1])}


@functools.cache
def chain(count):
    pairs = [(i, i - 1) for i in range(count)]
    return MultibodySystem(mass, force, Joint(hinge, pairs, own=of_hinges), own=own)


def bodies(problem):
    return problem.y0.reshape(-1, 3), problem.z0.reshape(-1, 3)


# Five rods with springs, and a knife edge at the end of the last: all that there is.


def spring(t, a, za, b, zb, own, args):
    del t, za, zb, args
    moment = own * (b[2] - a[2])
    zero = jnp.zeros_like(moment)
    return jnp.stack([zero, zero, moment]), jnp.stack([zero, zero, -moment])


def edge(t, a, za, b, zb, own, args):
    del t, b, zb, own, args
    # Along the rod the centre may move, across it not.
    return (-jnp.sin(a[2]) * za[0] + jnp.cos(a[2]) * za[1])[None]


def full():
    rods = chain(5)
    springs = ForceElement(
        spring, [(i, i - 1) for i in range(5)], own=lambda args: args["stiffness"]
    )
    blade = RollingJoint(edge, [(4, -1)], name="edge")
    return MultibodySystem(mass, force, rods.joints, rolling=blade, elements=springs, own=own)


def plain():
    """The same, written out."""

    def all_forces(t, q, v, args):
        th, stiffness = q.reshape(-1, 3)[:, 2], args["stiffness"]
        moment = stiffness * (jnp.append(0 * th[:1], th[:-1]) - th)
        total = problems._chain_rods.force(t, q, v, args).reshape(-1, 3)
        return total.at[:, 2].add(moment - jnp.append(moment[1:], 0 * th[:1])).reshape(-1)

    def blade(t, q, v, args):
        return edge(t, q[-3:], v[-3:], None, None, None, args)

    rods = problems.chain_rods(5).system
    return jaxspark.MechanicalSystem(rods.mass, all_forces, rods.holonomic, blade)


def full_start():
    problem = problems.chain_rods(5)
    args = {**problem.args, "stiffness": np.linspace(0.02, 0.06, 5)}
    # All turn about the ground, and the knife edge would move across: only along it.
    projected = jaxspark.project(plain(), 0.0, problem.y0, np.linspace(-1.0, 1.0, 15), args)
    return np.asarray(projected.y), np.asarray(projected.z), args


METHODS = {
    "Gauss": jaxspark.Gauss(3),
    "Radau IIA": jaxspark.RadauIIA(2),
    "Lobatto": jaxspark.Lobatto(3),
}


@pytest.mark.parametrize("method", [m if m != "Radau IIA" else thorough(m) for m in METHODS])
def test_same_motion_as_written_out(method):
    y0, z0, args = full_start()
    options = {"h": 0.004, "num_steps": 20, "save_every": 10, "multipliers": True}
    expected = jaxspark.rollout(
        plain(),
        y0,
        z0,
        args,
        method=METHODS[method],
        linear_solver=jaxspark.linear.DenseLU(),
        **options,
    )
    start = y0.reshape(5, 3), z0.reshape(5, 3)
    # "auto" is AcyclicNullSpace() here.
    for solver in ("auto", jaxspark.linear.DenseLU())[: 2 if method == "Gauss" else 1]:
        solution = jaxspark.rollout(
            full(), *start, args, method=METHODS[method], linear_solver=solver, **options
        )
        assert relative(np.reshape(solution.ys, (3, 15)), np.asarray(expected.ys)) <= 1e-12
        assert relative(np.reshape(solution.zs, (3, 15)), np.asarray(expected.zs)) <= 1e-12
        found, known = solution.multipliers, expected.multipliers
        assert found.lam[0].shape == (3, 5, 2) and found.psi[0].shape == (3, 1, 1)
        assert relative(np.reshape(found.lam[0], (3, 10)), np.asarray(known.lam)) <= 1e-9
        assert relative(np.reshape(found.psi[0], (3, 1)), np.asarray(known.psi)) <= 1e-9
        assert max(map(float, (solution.stats.max_g, solution.stats.max_k))) <= 1e-13


def test_explain():
    y0, z0, args = full_start()
    words = jaxspark.linear.explain(full(), y0.reshape(5, 3), z0.reshape(5, 3), args)
    assert "5 blocks, 15 unknowns, 11 rows; no loops" in words
    assert "declares no blocks" in jaxspark.linear.explain(plain(), y0, z0, args)


# Coordinates that are no velocities: bodies with quaternions, in dictionaries.


SPHERICAL = {"m": np.array([0.8, 0.5]), "J": np.array([[0.3, 0.2, 0.1], [0.05, 0.1, 0.12]])}
ARM = np.array([0.0, 0.0, 0.5])
GROUND = {"r": np.zeros(3), "e": np.array([1.0, 0.0, 0.0, 0.0])}


def turned(e, x):
    """The vector `x` turned by the quaternion `e`."""
    cross = jnp.cross(e[1:], x)
    return x + 2 * e[0] * cross + 2 * jnp.cross(e[1:], cross)


def quaternion_rate(t, y, z, own, args):
    del t, own, args
    e, w = y["e"], z["w"]
    vector = e[0] * w + jnp.cross(e[1:], w)
    return {"r": z["u"], "e": 0.5 * jnp.concatenate([-jnp.sum(e[1:] * w)[None], vector])}


def spatial_mass(t, y, own, args):
    del t, y, args
    # The leaves of the velocities in their order: u, w.
    return jnp.concatenate([jnp.broadcast_to(own["m"], (3,)), own["J"]])


def spatial_force(t, y, z, own, args):
    del t, y
    weight = jnp.stack([0 * own["m"], 0 * own["m"], -9.81 * own["m"]])
    return {"u": weight, "w": -jnp.cross(z["w"], own["J"] * z["w"])}


def ball(t, a, b, own, args):
    del t, args
    arm = jnp.asarray(ARM)
    return a["r"] - turned(a["e"], arm) - b["r"] - own * turned(b["e"], arm)


def spatial():
    joint = Joint(ball, [(0, -1), (1, 0)], own=lambda args: jnp.asarray([0.0, 1.0]))
    return MultibodySystem(
        spatial_mass, spatial_force, joint, velocity=quaternion_rate, own=lambda args: args,
        ground=GROUND,
    )  # fmt: skip


def spatial_plain():
    system, arm = spatial(), jnp.asarray(ARM)

    def g(t, y, args):
        del t, args
        first, second = (turned(y["e"][i], arm) for i in range(2))
        return jnp.concatenate([y["r"][0] - first, y["r"][1] - second - y["r"][0] - first])

    return jaxspark.ConstrainedSystem(system.f, v=system.v, p=system.p, g=g)


def test_quaternions_in_dictionaries():
    e = np.array([[0.9, 0.3, -0.2, 0.1], [0.7, -0.5, 0.4, 0.1]])
    e = e / np.linalg.norm(e, axis=1, keepdims=True)
    arms = np.array([turned(jnp.asarray(x), jnp.asarray(ARM)) for x in e])
    y0 = {"r": np.stack([arms[0], 2 * arms[0] + arms[1]]), "e": e}
    moving = {"u": np.zeros((2, 3)), "w": np.array([[1.0, -2.0, 3.0], [0.5, 1.0, -1.0]])}
    z0 = jaxspark.project(spatial_plain(), 0.0, y0, moving, SPHERICAL).z
    options = {"h": 0.01, "num_steps": 20, "save_every": None, "multipliers": True}
    expected = jaxspark.rollout(
        spatial_plain(), y0, z0, SPHERICAL, method=jaxspark.Gauss(3), **options,
        linear_solver=jaxspark.linear.DenseLU(),
    )  # fmt: skip
    solution = jaxspark.rollout(
        spatial(),
        y0,
        z0,
        SPHERICAL,
        method=jaxspark.Gauss(3),
        linear_solver=AcyclicNullSpace(),
        **options,
    )
    for x, y in ((solution.y1, expected.y1), (solution.z1, expected.z1)):
        x, y = (np.asarray(jax.flatten_util.ravel_pytree(at)[0]) for at in (x, y))
        assert relative(x, y) <= 1e-12
    lam = np.ravel(solution.multipliers.lam[0][-1])
    assert relative(lam, np.asarray(expected.multipliers.lam[-1])) <= 1e-9
    assert np.max(np.abs(np.linalg.norm(solution.y1["e"], axis=1) - 1)) <= 1e-10


# Derivatives.


def end_of(structured, masses, gravity, steps=5):
    count = masses.shape[0]
    problem = problems.chain_rods(count)
    args = {**problem.args, "masses": masses, "gravity": gravity}
    start = bodies(problem) if structured else (problem.y0, problem.z0)
    solution = jaxspark.rollout(
        chain(count) if structured else problem.system, *start, args, method=jaxspark.Gauss(2),
        h=0.002, num_steps=steps, save_every=None,
        linear_solver=AcyclicNullSpace() if structured else jaxspark.linear.DenseLU(),
    )  # fmt: skip
    return jnp.sum(jnp.sin(3 * solution.y1.ravel())) + jnp.sum(solution.z1.ravel() ** 2)


def test_derivatives_with_respect_to_all_masses():
    masses = jnp.linspace(0.5, 1.5, 12) / 12
    direction = jnp.cos(jnp.arange(12.0))

    def both(structured, masses):
        of = lambda masses: end_of(structured, masses, 9.81)
        return jax.value_and_grad(of)(masses), jax.jvp(of, (masses,), (direction,))[1]

    found, expected = (eqx.filter_jit(both)(x, masses) for x in (True, False))
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert relative(np.asarray(x), np.asarray(y)) <= 1e-10
    assert np.abs(found[0][1] @ direction - found[1]) <= 1e-10 * np.abs(found[1])


@pytest.mark.thorough
def test_second_derivatives_and_batches():
    def of(structured, theta):
        masses = jnp.asarray([0.3, 0.2, 0.4]) * theta[0]
        return end_of(structured, masses, 9.81 * theta[1], 3)

    theta = jnp.asarray([1.1, 0.9])
    hessian, expected = (
        eqx.filter_jit(jax.hessian(functools.partial(of, structured)))(theta)
        for structured in (True, False)
    )
    assert relative(hessian, expected) <= 1e-8
    several = jnp.asarray([[1.0, 1.0], [1.2, 0.8], [0.7, 1.5]])
    batch = jax.vmap(functools.partial(of, True))(several)
    assert relative(batch, jnp.stack([of(True, one) for one in several])) <= 1e-12


# Long motions, and reference values.


def test_energy_is_kept():
    problem = problems.chain_rods(3)
    solution = jaxspark.rollout(
        chain(3), *bodies(problem), problem.args, method=jaxspark.Gauss(2), h=0.002, num_steps=2000,
        save_every=20,
    )  # fmt: skip
    m, J, g = (problem.args[key] for key in ("masses", "inertias", "gravity"))
    speeds = np.asarray(solution.zs) ** 2
    kinetic = 0.5 * (m * (speeds[..., 0] + speeds[..., 1]) + J * speeds[..., 2]).sum(1)
    energy = kinetic + g * (m * np.asarray(solution.ys)[..., 1]).sum(1)
    assert np.max(np.abs(energy - energy[0])) <= 1e-6 * np.max(kinetic)
    assert float(solution.stats.max_g) <= 1e-14


@pytest.mark.parametrize("count, method, steps, t1", [(4, 6, 280, 1.0), (10, 6, 400, 0.5)])
def test_reference_values(count, method, steps, t1):
    problem = problems.chain_rods(count)
    exact = next(at for at in problem.reference()["checkpoints"] if at["t"] == t1)
    solution = jaxspark.rollout(
        chain(count), *bodies(problem), problem.args, method=jaxspark.Gauss(method), t1=t1,
        num_steps=steps, save_every=None, multipliers=True, linear_solver=AcyclicNullSpace(),
    )  # fmt: skip
    assert digits(solution.y1, exact["y"]) >= 9
    assert digits(solution.z1, exact["z"]) >= 9
    assert digits(solution.multipliers.lam[0][-1], exact["lambda"]) >= 9
