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
    knife_edge_reaction,
    knife_edge_start,
    largest_difference,
    order,
)
from jaxspark import ConstrainedSystem, dry_friction, Gauss, LagrangianSystem, Lobatto
from jaxspark import MechanicalSystem, RadauIIA, regularised_norm, RESULTS


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
    exact = -0.5 * 1.5 * slip / 0.5
    for width in (1e-2, 1e-3):
        narrow = dry_friction(slip, load, 0.5, slip_width=width, load_floor=1e-12)
        assert np.allclose(1 - narrow / exact, (width / 0.5) ** 2 / 2, rtol=width, atol=0)
        low = dry_friction(slip, load, 0.5, slip_width=1e-12, load_floor=width)
        assert np.allclose(low / exact - 1, (width / 1.5) ** 2 / 2, rtol=width, atol=0)
    # Far below the width it is viscous.
    slow = dry_friction(1e-6 * slip, load, 0.5, slip_width=0.1, load_floor=1e-12)
    assert np.allclose(slow, -0.5 * 1.5 * 1e-6 * slip / 0.1, rtol=1e-10, atol=0)


def test_derivatives_of_dry_friction_at_rest():
    def force(slip, load, coefficient):
        return dry_friction(slip, load, coefficient, **WIDTHS)

    at = (*arrays([0.0, 0.0], [0.0]), 0.5)
    for mode in (jax.jacfwd, jax.jacrev):
        by_slip, by_load, by_coefficient = jax.jit(mode(force, (0, 1, 2)))(*at)
        assert np.max(np.abs(by_slip + 0.5 * 0.2 / 0.1 * np.eye(2))) <= 1e-15
        assert not np.any(by_load) and not np.any(by_coefficient)
    hessian = jax.jit(jax.hessian(lambda x: regularised_norm(x, 0.2)))(np.zeros(3))
    assert np.max(np.abs(hessian - 5 * np.eye(3))) <= 1e-14


def test_dry_friction_in_single_precision():
    slip, load = jnp.asarray([0.3, -0.4], jnp.float32), jnp.asarray([1.2, 0.9], jnp.float32)
    expected = dry_friction(*arrays([0.3, -0.4], [1.2, 0.9]), 0.5, **WIDTHS)
    for width in (0.1, np.float64(0.1), jnp.asarray(0.1)):
        force = dry_friction(slip, load, 0.5, slip_width=width, load_floor=0.2)
        assert force.dtype == np.float32
        assert np.max(np.abs(np.asarray(force, float) - expected)) <= 1e-7
    gradient = jax.jacrev(lambda slip: dry_friction(slip, 0 * load, 0.5, **WIDTHS))(0 * slip)
    assert gradient.dtype == np.float32 and np.all(np.isfinite(gradient))


# Holonomic constraints: a bead on a wire, a parabola, that turns in a vertical plane. Straight
# and at rest it is an inclined rail.

WIRE = {"m": 0.7, "g": 9.81, "angle": 0.5, "spin": 1.5, "curvature": 1.2}
WIRE |= {"mu": 0.4, "slip_width": 1.0, "load_floor": 3.0}
WIRE_START = (0.3, 2.0)


def turned(q, angle):
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([c * q[0] - s * q[1], s * q[0] + c * q[1]])


def wire(t, q, args):
    x, y = turned(q, -(args["angle"] + args["spin"] * t))
    return {"wire": y - 0.5 * args["curvature"] * x**2}


def friction_with(args, slip, load):
    widths = {name: args[name] for name in WIDTHS}
    return dry_friction(slip, load, args["mu"], **widths)


def wire_friction(t, q, v, lam, args):
    x = turned(q, -(args["angle"] + args["spin"] * t))[0]
    slip = v - args["spin"] * jnp.stack([-q[1], q[0]])
    load = lam["wire"] * jnp.sqrt(1 + (args["curvature"] * x) ** 2)
    return friction_with(args, slip, load)


def weight_lagrangian(t, q, v, args):
    return args["m"] * (0.5 * jnp.sum(v**2) - args["g"] * q[1])


def weight(t, q, v, args):
    return jnp.zeros_like(q).at[1].set(-args["m"] * args["g"])


BEAD = {
    "lagrangian": LagrangianSystem(weight_lagrangian, holonomic=wire, friction=wire_friction),
    "mechanical": MechanicalSystem(
        lambda t, q, args: args["m"] * jnp.eye(2), weight, holonomic=wire, friction=wire_friction
    ),
    "constrained": ConstrainedSystem(
        weight, p=lambda t, y, z, args: args["m"] * z, g=wire, friction=wire_friction
    ),
}


def on_the_wire(t, s, rate, args):
    """In the frame of the wire: position, tangent, acceleration that is not `tangent s''`, and
    the multiplier."""
    m, spin, curvature = args["m"], args["spin"], args["curvature"]
    heading = args["angle"] + spin * t
    place, tangent = np.array([s, 0.5 * curvature * s**2]), np.array([1 + 0 * s, curvature * s])
    normal, turning = np.array([-tangent[1], tangent[0]]), 2 * spin * rate
    rest = curvature * rate**2 * np.array([0, 1])[(...,) + (None,) * np.ndim(s)]
    rest = rest + turning * normal - spin**2 * place
    rest = rest + args["g"] * np.array([np.sin(heading), np.cos(heading)])
    return place, tangent, rest, -m * np.sum(normal * rest, 0) / np.sum(normal**2, 0)


def wire_state(t, s, rate, args):
    """Position and velocity in space, and the multiplier."""
    place, tangent, _, lam = on_the_wire(t, s, rate, args)
    velocity = tangent * rate + args["spin"] * np.array([-place[1], place[0]])
    q, v = (turned(x, args["angle"] + args["spin"] * t).T for x in (place, velocity))
    return q, v, {"wire": jnp.asarray(lam)}


def wire_reference(times, args):
    """Coordinate and rate along the wire, and the work of the friction force."""

    def rates(t, x):
        _, tangent, rest, lam = on_the_wire(t, *x[:2], args)
        length = np.hypot(*tangent)
        load, slip = np.hypot(lam * length, args["load_floor"]), length * x[1]
        force = -args["mu"] * load * slip / np.hypot(slip, args["slip_width"])
        gain = -np.sum(tangent * rest) / length**2 + force / (args["m"] * length)
        return [x[1], gain, force * slip]

    span, options = (0.0, times[-1]), {"t_eval": times, "rtol": 1e-12, "atol": 1e-13}
    return solve_ivp(rates, span, [*WIRE_START, 0.0], "DOP853", **options).y


@functools.cache
def bead(form):
    """Forty steps, by start and args."""

    @jax.jit
    def run(y, z, args):
        return jaxspark.rollout(
            BEAD[form], Lobatto(3), y, z, args,
            t1=1.0, num_steps=40, multipliers=True, throw=False,
        )  # fmt: skip

    def checked(s, rate, args):
        solution = run(*wire_state(0.0, s, rate, args)[:2], args)
        assert bool(solution.result == RESULTS.successful)
        assert max(solution.stats.max_g, solution.stats.max_gdot) <= 1e-14
        return solution

    return checked


def test_block_on_a_rail():
    """Upward it would be another parabola; downhill is backward on the wire."""
    args = WIRE | {"spin": 0.0, "curvature": 0.0, "slip_width": 1e-7, "load_floor": 1e-7}
    solution = bead("lagrangian")(0.0, -1.5, args)
    t = np.asarray(solution.ts)[:, None]
    uphill = np.array([np.cos(0.5), np.sin(0.5)])
    gain = 9.81 * (0.4 * np.cos(0.5) - np.sin(0.5))
    assert gain < -1
    assert np.max(np.abs(solution.ys - (-1.5 * t + gain * t**2 / 2) * uphill)) <= 1e-13
    assert np.max(np.abs(solution.zs - (-1.5 + gain * t) * uphill)) <= 1e-13
    lam = solution.multipliers.lam["wire"]
    assert np.max(np.abs(lam + 0.7 * 9.81 * np.cos(0.5))) <= 1e-12


@pytest.mark.parametrize("width", [0.5, 0.25])
def test_block_that_sticks(width):
    """On a rougher rail it creeps, the slower the smaller the width."""
    args = WIRE | {"spin": 0.0, "curvature": 0.0, "mu": 1.1}
    solution = bead("lagrangian")(0.0, -0.2, args | {"slip_width": width, "load_floor": 1e-7})
    ratio = np.tan(0.5) / 1.1
    creep = width * ratio / np.sqrt(1 - ratio**2)
    assert abs(np.linalg.norm(solution.z1) - creep) <= 1e-3 * creep


def test_bead_on_a_wire():
    solution = bead("lagrangian")(*WIRE_START, WIRE)
    t = np.asarray(solution.ts)
    expected = wire_state(t, *wire_reference(t, WIRE)[:2], WIRE)
    lam = solution.multipliers.lam
    assert np.ptp(expected[2]["wire"]) > 5
    for got, exact in zip((solution.ys, solution.zs, lam), expected):
        assert largest_difference(got, exact) <= 1e-6
    # The multiplier reported at a state is that of this state, to rounding error.
    s, across = turned(solution.ys.T, -(0.5 + 1.5 * t))
    rate = turned(solution.zs.T, -(0.5 + 1.5 * t))[0] + 1.5 * across
    assert largest_difference(lam, wire_state(t, s, rate, WIRE)[2]) <= 1e-13


@pytest.mark.parametrize("form", ["mechanical", "constrained"])
def test_three_forms_of_a_bead(form):
    got, expected = (bead(form)(*WIRE_START, WIRE) for form in (form, "lagrangian"))
    assert largest_difference((got.ys, got.zs), (expected.ys, expected.zs)) <= 1e-13
    assert largest_difference(got.multipliers.lam, expected.multipliers.lam) <= 1e-12
    assert largest_difference(got.multipliers.zdot, expected.multipliers.zdot) <= 1e-12


def test_friction_takes_energy():
    """On a wire at rest: at every step, and as much as it should."""
    args = WIRE | {"spin": 0.0}
    solution = bead("lagrangian")(*WIRE_START, args)
    trajectory = solution.ts, solution.ys, solution.zs
    energies = jaxspark.energy(BEAD["lagrangian"], *trajectory, args)
    work = wire_reference(np.asarray(solution.ts), args)[2]
    assert np.all(np.diff(energies) < 0) and work[-1] < -1
    assert np.max(np.abs(energies - energies[0] - work)) <= 1e-6 * abs(work[-1])
