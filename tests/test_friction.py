"""Forces that depend on the multipliers: dry friction, at joints, rails and blades."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxspark
from benchmarks.core._gradients import differences, relative
from helpers import arrays, order
from jaxspark import dry_friction, Gauss, Lobatto, RadauIIA, regularised_norm


MASS, RADIUS, GRAVITY = 1.3, 0.8, 9.81
SMOOTH = dict(slip_width=0.5, load_floor=0.5)
START_ANGLE, START_RATE, T_END = 0.6, 2.0, 1.0


def test_the_law():
    slip, load = jnp.asarray([0.3, -0.4]), jnp.asarray([2.0])
    force = dry_friction(slip, load, 0.2, slip_width=1e-9, load_floor=1e-9)
    assert np.allclose(force, -0.2 * 2.0 * slip / 0.5, rtol=1e-14)
    assert np.array_equal(
        dry_friction(-slip, load, 0.2, **SMOOTH), -dry_friction(slip, load, 0.2, **SMOOTH)
    )
    # The errors that the docstring states, to leading order.
    weak = dry_friction(slip, load, 0.2, slip_width=1e-3, load_floor=1e-9)
    assert abs(1 - weak[0] / force[0] - (1e-3 / 0.5) ** 2 / 2) <= 1e-10
    strong = dry_friction(slip, load, 0.2, slip_width=1e-9, load_floor=1e-3)
    assert abs(strong[0] / force[0] - 1 - (1e-3 / 2.0) ** 2 / 2) <= 1e-10


def test_the_law_is_smooth_where_coulombs_is_not():
    zero = jnp.zeros(2)
    slope = jax.jacfwd(lambda x: dry_friction(x, zero, 0.2, slip_width=0.1, load_floor=3.0))(zero)
    assert np.allclose(slope, -0.2 * 3.0 / 0.1 * np.eye(2), rtol=1e-14)
    assert np.array_equal(jax.grad(lambda x: regularised_norm(x, 0.1))(zero), zero)
    short = jnp.zeros(2, jnp.float32)
    single = dry_friction(short, short, 0.2, slip_width=0.1, load_floor=1.0)
    assert single.dtype == np.float32


def along(q, v):
    """The sliding velocity on the wire, and its direction."""
    direction = jnp.stack([-q[1], q[0]]) / jnp.linalg.norm(q)
    return jnp.sum(direction * v), direction


def wire_friction(t, q, v, lam, mu):
    speed, direction = along(q, v)
    load = lam * jnp.linalg.norm(q)  # g_q = q
    return dry_friction(speed[None], load, mu, **SMOOTH)[0] * direction


def wire(t, q, mu):
    return 0.5 * (jnp.sum(q**2, keepdims=True) - RADIUS**2)


def weight(t, q, v, mu):
    return jnp.asarray([0.0, -MASS * GRAVITY])


def bead(form="lagrangian"):
    """A bead on a circular wire in the vertical plane, the load on it that of the wire."""
    if form == "lagrangian":
        return jaxspark.LagrangianSystem(
            lambda t, q, v, mu: MASS * (0.5 * jnp.sum(v**2) - GRAVITY * q[1]),
            holonomic=wire, friction=wire_friction,
        )  # fmt: skip
    if form == "mechanical":
        return jaxspark.MechanicalSystem(
            lambda t, q, mu: MASS * jnp.eye(2), weight, wire, friction=wire_friction
        )
    return jaxspark.ConstrainedSystem(
        weight, p=lambda t, y, z, mu: MASS * z, g=wire, friction=wire_friction
    )


def bead_start():
    direction = np.array([np.sin(START_ANGLE), -np.cos(START_ANGLE)])
    return RADIUS * direction, RADIUS * START_RATE * np.array([-direction[1], direction[0]])


@functools.cache
def bead_reference(mu):
    """Angle from hanging, its rate and the force of the wire at the end, as an ODE."""

    def load(angle, rate):
        return MASS * (RADIUS * rate**2 + GRAVITY * np.cos(angle))

    def rates(t, state):
        angle, rate = state
        size = np.sqrt(load(angle, rate) ** 2 + SMOOTH["load_floor"] ** 2)
        slip = RADIUS * rate
        braking = mu * size * slip / np.sqrt(slip**2 + SMOOTH["slip_width"] ** 2)
        return rate, -GRAVITY / RADIUS * np.sin(angle) - braking / (MASS * RADIUS)

    start = (START_ANGLE, START_RATE)
    end = solve_ivp(rates, (0, T_END), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    position = RADIUS * np.array([np.sin(end[0]), -np.cos(end[0])])
    return position, RADIUS * end[1] * np.array([np.cos(end[0]), np.sin(end[0])]), load(*end)


def slide(method, num_steps, mu=0.4, form="lagrangian", **options):
    return jaxspark.rollout(
        bead(form), method, *bead_start(), mu, t1=T_END, num_steps=num_steps, **options
    )


def test_friction_on_a_wire():
    solution = slide(Lobatto(5), 60, multipliers=True)
    position, velocity, load = bead_reference(0.4)
    assert np.max(np.abs(solution.y1 - position)) <= 1e-11
    assert np.max(np.abs(solution.z1 - velocity)) <= 1e-11
    assert abs(solution.multipliers.lam[-1, 0] * RADIUS - load) <= 1e-9
    assert float(solution.stats.max_g) <= 1e-15 and float(solution.stats.max_gdot) <= 1e-15
    energies = jaxspark.energy(bead(), solution.ts, solution.ys, solution.zs, 0.4)
    assert np.all(np.diff(energies) < 0)


@pytest.mark.parametrize("stages, steps", [(2, (80, 120, 180)), (3, (40, 60, 90))])
def test_order_with_friction(stages, steps):
    position, velocity, _ = bead_reference(0.4)
    errors = []
    for n in steps:
        solution = slide(Lobatto(stages), n, save_every=None)
        errors.append(
            [np.max(np.abs(solution.y1 - position)), np.max(np.abs(solution.z1 - velocity))]
        )
    for column in np.array(errors).T:
        assert abs(order(1 / np.array(steps), column) - (2 * stages - 2)) <= 0.15, errors


@pytest.mark.parametrize("form", ["mechanical", "constrained"])
def test_three_forms_of_one_system(form):
    first, second = slide(Lobatto(3), 20), slide(Lobatto(3), 20, form=form)
    assert np.max(np.abs(first.ys - second.ys)) <= 1e-13
    assert np.max(np.abs(first.zs - second.zs)) <= 1e-13


@pytest.mark.parametrize("method", [Gauss(2), RadauIIA(2)], ids=str)
def test_methods_without_velocities_at_the_constraints(method):
    with pytest.raises(ValueError, match="Use jaxspark.Lobatto"):
        slide(method, 5)


def test_derivative_by_the_coefficient():
    def loss(mu):
        solution = slide(Lobatto(3), 12, mu[0], throw=False, save_every=None)
        return jnp.sum(solution.y1 * jnp.arange(1.0, 3.0)) + jnp.sum(solution.z1**2)

    mu = np.array([0.4])
    reverse, forward = jax.jit(jax.grad(loss))(mu), jax.jit(jax.jacfwd(loss))(mu)
    assert abs(reverse[0]) > 0.1
    assert relative(reverse, forward) <= 1e-12
    assert relative(reverse, differences(jax.jit(loss), mu)) <= 1e-8


SKATE = {"m": 1.2, "J": 0.3, "slope": 3.0, "mu": 0.1}


def blade(t, q, v, args):
    return (jnp.sin(q[2]) * v[0] - jnp.cos(q[2]) * v[1])[None]


def blade_friction(t, q, v, psi, args):
    heading = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    speed = jnp.sum(heading * v[:2])
    force = dry_friction(speed[None], psi, args["mu"], **SMOOTH)[0]
    return jnp.concatenate([force * heading, jnp.zeros(1)])


def skate_lagrangian(t, q, v, args):
    kinetic = args["m"] * (v[0] ** 2 + v[1] ** 2) + args["J"] * v[2] ** 2
    return 0.5 * kinetic + args["m"] * args["slope"] * q[0]


def skate(form):
    """On a slope, braked in proportion to the side force on its blade."""
    if form == "lagrangian":
        return jaxspark.LagrangianSystem(
            skate_lagrangian, nonholonomic=blade, nonideal=blade_friction
        )
    return jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.diag(jnp.stack([args["m"], args["m"], args["J"]])),
        lambda t, q, v, args: jnp.stack([args["m"] * args["slope"], 0.0 * q[0], 0.0 * q[0]]),
        nonholonomic=blade, nonideal=blade_friction,
    )  # fmt: skip


@functools.cache
def skate_reference(t_end, speed, rate):
    """Place, angle and speed along the blade, as an ODE; the angle turns steadily."""
    m, slope, mu = SKATE["m"], SKATE["slope"], SKATE["mu"]

    def rates(t, state):
        _, _, angle, u = state
        side = m * (rate * u + slope * np.sin(angle))
        size = np.sqrt(side**2 + SMOOTH["load_floor"] ** 2)
        braking = mu * size * u / np.sqrt(u**2 + SMOOTH["slip_width"] ** 2)
        return u * np.cos(angle), u * np.sin(angle), rate, slope * np.cos(angle) - braking / m

    start = (0.1, -0.2, 0.4, speed)
    return solve_ivp(rates, (0, t_end), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


METHODS = [Gauss(3), RadauIIA(4), Lobatto(4), Lobatto(4, psi="C"), Lobatto(4, psi="C*")]


@pytest.mark.parametrize("form, method", [("mechanical", Lobatto(4, psi="D"))] + [
    ("lagrangian", method) for method in METHODS
], ids=str)  # fmt: skip
def test_friction_of_a_blade(form, method):
    args = jax.tree.map(jnp.asarray, SKATE)
    y, z = arrays([0.1, -0.2, 0.4], [0.9 * np.cos(0.4), 0.9 * np.sin(0.4), 1.7])
    solution = jaxspark.rollout(skate(form), method, y, z, args, t1=1.5, num_steps=60)
    x, y, angle, u = skate_reference(1.5, 0.9, 1.7)
    assert np.max(np.abs(solution.y1 - np.array([x, y, angle]))) <= 1e-8
    velocity = np.array([u * np.cos(angle), u * np.sin(angle), 1.7])
    assert np.max(np.abs(solution.z1 - velocity)) <= 1e-8
    assert float(solution.stats.max_k) <= 1e-14
