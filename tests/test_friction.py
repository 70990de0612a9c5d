"""Forces that depend on multipliers: dry friction, regularised."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxspark
from benchmarks.core._gradients import differences, relative
from helpers import (
    arrays,
    edge,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_lagrangian,
    knife_edge_start,
    largest_difference,
    order,
)
from jaxspark import (
    ConstrainedSystem,
    dry_friction,
    Gauss,
    LagrangianSystem,
    Lobatto,
    MechanicalSystem,
    RadauIIA,
    regularised_norm,
    RESULTS,
)


# The law.

WIDTHS = {"slip_width": 0.1, "load_floor": 0.2}


def test_dry_friction_by_hand():
    slip, load = arrays([0.3, -0.4], [1.2, 0.9])
    force = dry_friction(slip, load, 0.5, **WIDTHS)
    size = 0.5 * np.sqrt(1.5**2 + 0.2**2) * 0.5 / np.sqrt(0.5**2 + 0.1**2)
    assert np.max(np.abs(force - size * np.array([-0.6, 0.8]))) <= 1e-15
    assert np.array_equal(dry_friction(-slip, load, 0.5, **WIDTHS), -force)
    # Only the norm of the load counts, whatever its shape.
    for same in (-load, load[::-1], load[None, :, None], jnp.asarray(1.5)):
        assert np.max(np.abs(dry_friction(slip, same, 0.5, **WIDTHS) - force)) <= 1e-15


def test_limits_of_dry_friction():
    """Coulomb's law, and how far from it the regularisation is."""
    slip, load = arrays([0.3, -0.4], [1.5])
    exact = -0.5 * 1.5 * np.asarray(slip) / 0.5
    for width in (1e-2, 1e-3):
        narrow = dry_friction(slip, load, 0.5, slip_width=width, load_floor=1e-12)
        assert np.allclose(1 - narrow / exact, (width / 0.5) ** 2 / 2, rtol=width, atol=0)
        low = dry_friction(slip, load, 0.5, slip_width=1e-12, load_floor=width)
        assert np.allclose(low / exact - 1, (width / 1.5) ** 2 / 2, rtol=width, atol=0)
    # Far below the width it is a viscous one.
    viscous = dry_friction(1e-6 * slip, load, 0.5, slip_width=0.1, load_floor=1e-12)
    assert np.allclose(viscous, -0.5 * 1.5 * 1e-6 * slip / 0.1, rtol=1e-10, atol=0)


def test_derivatives_of_dry_friction_at_rest():
    def force(slip, load, coefficient):
        return dry_friction(slip, load, coefficient, **WIDTHS)

    at = (*arrays([0.0, 0.0], [0.0]), 0.5)
    for mode in (jax.jacfwd, jax.jacrev):
        by_slip, by_load, by_coefficient = mode(force, (0, 1, 2))(*at)
        assert np.max(np.abs(by_slip + 0.5 * 0.2 / 0.1 * np.eye(2))) <= 1e-15
        assert np.array_equal(by_load, np.zeros((2, 1)))
        assert np.array_equal(by_coefficient, np.zeros(2))
        curvature = mode(jax.jacfwd(lambda slip: force(slip, *at[1:])))(at[0])
        assert np.array_equal(curvature, np.zeros((2, 2, 2)))
    hessian = jax.hessian(lambda x: regularised_norm(x, 0.2))(np.zeros(3))
    assert np.max(np.abs(hessian - 5 * np.eye(3))) <= 1e-14


def test_dry_friction_in_single_precision():
    slip, load = np.float32([0.3, -0.4]), np.float32([1.2, 0.9])
    for width in (0.1, np.float64(0.1), jnp.asarray(0.1)):
        force = dry_friction(slip, load, 0.5, slip_width=width, load_floor=0.2)
        assert force.dtype == np.float32
        expected = dry_friction(*arrays(slip, load), 0.5, **WIDTHS)
        assert np.max(np.abs(force - np.asarray(expected))) <= 1e-7
    gradient = jax.jacrev(lambda slip: dry_friction(slip, 0 * load, 0.5, **WIDTHS))(0 * slip)
    assert gradient.dtype == np.float32 and np.all(np.isfinite(gradient))


# Holonomic constraints: a block on a rail.

RAIL_ARGS = {"m": 0.8, "g": 9.81, "angle": 0.6, "mu": 0.3, "slip_width": 1e-7, "load_floor": 1e-7}


def rail(t, q, args):
    return (q[1] * jnp.cos(args["angle"]) + q[0] * jnp.sin(args["angle"]))[None]


def weight_lagrangian(t, q, v, args):
    return args["m"] * (0.5 * jnp.sum(v**2) - args["g"] * q[-1])


def rail_friction(t, q, v, lam, args):
    widths = {name: args[name] for name in WIDTHS}
    return dry_friction(v, lam, args["mu"], **widths)


RAIL = LagrangianSystem(weight_lagrangian, holonomic=rail, friction=rail_friction)


@pytest.fixture(scope="module")
def on_the_rail():
    """By speed along the rail and args; downhill is positive."""

    @jax.jit
    def run(speed, args):
        along = jnp.stack([jnp.cos(args["angle"]), -jnp.sin(args["angle"])])
        return jaxspark.rollout(
            RAIL, Lobatto(2), 0 * along, speed * along, args,
            h=0.05, num_steps=20, multipliers=True, throw=False,
        )  # fmt: skip

    return lambda speed, **others: run(speed, RAIL_ARGS | others)


def test_block_on_a_rail(on_the_rail):
    """A parabola; the reported multiplier is the normal force."""
    solution = on_the_rail(1.5)
    m, g, angle, mu = (RAIL_ARGS[name] for name in ("m", "g", "angle", "mu"))
    t = np.asarray(solution.ts)[:, None]
    along = np.array([np.cos(angle), -np.sin(angle)])
    gain = g * (np.sin(angle) - mu * np.cos(angle))
    assert bool(solution.result == RESULTS.successful) and gain > 1
    assert np.max(np.abs(solution.ys - (1.5 * t + gain * t**2 / 2) * along)) <= 1e-13
    assert np.max(np.abs(solution.zs - (1.5 + gain * t) * along)) <= 1e-13
    assert np.max(np.abs(solution.multipliers.lam + m * g * np.cos(angle))) <= 1e-13


def test_block_that_sticks(on_the_rail):
    """On a rougher rail it creeps, the slower the smaller the width."""
    for width in (0.3, 0.1):
        solution = on_the_rail(0.2, mu=1.1, slip_width=width)
        ratio = np.tan(RAIL_ARGS["angle"]) / 1.1
        creep = width * ratio / np.sqrt(1 - ratio**2)
        speeds = np.linalg.norm(solution.zs, axis=1)
        assert abs(speeds[-1] - creep) <= 1e-3 * creep


# Holonomic constraints: a bead on a hoop that rotates about its vertical diameter.

HOOP_ARGS = {
    "m": 0.7, "g": 9.81, "radius": 0.6, "spin": 3.0, "mu": 0.4, "slip_width": 0.8, "load_floor": 2.0,
}  # fmt: skip
HOOP_START = (0.4, 6.0)


def hoop(t, q, args):
    turned = q[1] * jnp.cos(args["spin"] * t) - q[0] * jnp.sin(args["spin"] * t)
    return {"sphere": 0.5 * (jnp.sum(q**2) - args["radius"] ** 2), "plane": turned}


def hoop_friction(t, q, v, lam, args):
    slip = v - args["spin"] * jnp.stack([-q[1], q[0], jnp.zeros_like(q[2])])
    load = jnp.stack([args["radius"] * lam["sphere"], lam["plane"]])
    widths = {name: args[name] for name in WIDTHS}
    return dry_friction(slip, load, args["mu"], **widths)


def weight(t, q, v, args):
    return jnp.zeros_like(q).at[-1].set(-args["m"] * args["g"])


HOOP = LagrangianSystem(weight_lagrangian, holonomic=hoop, friction=hoop_friction)
HOOP_FORMS = {
    "lagrangian": HOOP,
    "mechanical": MechanicalSystem(
        lambda t, q, args: args["m"] * jnp.eye(3), weight, holonomic=hoop, friction=hoop_friction
    ),
    "constrained": ConstrainedSystem(
        weight, p=lambda t, y, z, args: args["m"] * z, g=hoop, friction=hoop_friction
    ),
}


def hoop_state(t, angle, rate, args):
    """Position and velocity in space, and multipliers, by hand."""
    m, g, radius, spin = (args[name] for name in ("m", "g", "radius", "spin"))
    out = np.array([np.cos(spin * t), np.sin(spin * t), 0 * t])
    across, up = np.array([-out[1], out[0], 0 * t]), np.array([0 * t, 0 * t, 1 + 0 * t])
    q = radius * (np.sin(angle) * out - np.cos(angle) * up)
    v = radius * rate * (np.cos(angle) * out + np.sin(angle) * up)
    v = v + radius * spin * np.sin(angle) * across
    normal = m * (radius * rate**2 + radius * (spin * np.sin(angle)) ** 2 + g * np.cos(angle))
    coriolis = 2 * m * spin * radius * rate * np.cos(angle)
    return q.T, v.T, {"sphere": normal / radius, "plane": -coriolis}


def hoop_reference(times, args):
    """The equation of motion in the angle, and the energy that friction has taken."""
    m, g, radius, spin = (args[name] for name in ("m", "g", "radius", "spin"))

    def rates(t, x):
        angle, rate, _ = x
        lam = hoop_state(t, angle, rate, args)[2]
        load = (radius * lam["sphere"]) ** 2 + lam["plane"] ** 2 + args["load_floor"] ** 2
        slip = radius * rate
        force = -args["mu"] * np.sqrt(load) * slip / np.hypot(slip, args["slip_width"])
        driving = spin**2 * np.sin(angle) * np.cos(angle) - g / radius * np.sin(angle)
        return [rate, driving + force / (m * radius), force * slip]

    span = (0.0, times[-1])
    solution = solve_ivp(
        rates, span, [*HOOP_START, 0.0], "DOP853", t_eval=times, rtol=1e-12, atol=1e-13
    )
    assert solution.success
    return solution.y


@functools.cache
def on_the_hoop(form, stages):
    @functools.partial(jax.jit, static_argnums=1)
    def run(args, num_steps):
        y, z = arrays(*hoop_state(0.0, *HOOP_START, args)[:2])
        return jaxspark.rollout(
            HOOP_FORMS[form], Lobatto(stages), y, z, args,
            t1=1.0, num_steps=num_steps, multipliers=True, throw=False,
        )  # fmt: skip

    return run
