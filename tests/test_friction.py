"""Forces that depend on multipliers: dry friction, regularised."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import helpers
import jaxspark
from benchmarks.core._gradients import differences, relative
from helpers import arrays, knife_edge_reaction, knife_edge_start, largest_difference
from jaxspark import dry_friction, Gauss, LagrangianSystem, Lobatto, RadauIIA


# The law.

WIDTHS = {"slip_width": 0.1, "load_floor": 0.2}


def test_dry_friction_by_hand():
    """Only the norm of the load counts, whatever its shape."""
    slip, load = arrays([0.3, -0.4], [1.2, 0.9])
    force = dry_friction(slip, load, 0.5, **WIDTHS)
    size = 0.5 * np.sqrt(1.5**2 + 0.2**2) * 0.5 / np.sqrt(0.5**2 + 0.1**2)
    assert np.allclose(force, size * np.array([-0.6, 0.8]), rtol=1e-15, atol=0)
    assert np.array_equal(dry_friction(-slip, load, 0.5, **WIDTHS), -force)
    assert np.allclose(dry_friction(-0.5, -1.5, 0.5, **WIDTHS), size, rtol=1e-15, atol=0)
    for same in (-load, load[::-1], load[None, :, None], jnp.asarray(1.5)):
        assert np.allclose(dry_friction(slip, same, 0.5, **WIDTHS), force, rtol=1e-15, atol=0)


def test_limits_of_dry_friction():
    """Coulomb's law, and how far from it the regularisation is."""
    slip, load = arrays([0.3, -0.4], [1.5])
    exact = -0.5 * 1.5 * slip / 0.5
    for width in (1e-2, 1e-3):
        narrow = dry_friction(slip, load, 0.5, slip_width=width, load_floor=1e-12)
        assert np.allclose(1 - narrow / exact, (width / 0.5) ** 2 / 2, rtol=width, atol=0)
        low = dry_friction(slip, load, 0.5, slip_width=1e-12, load_floor=width)
        assert np.allclose(low / exact - 1, (width / 1.5) ** 2 / 2, rtol=width, atol=0)


def test_derivatives_of_dry_friction_at_rest():
    at = (*arrays([0.0, 0.0], [0.0]), 0.5)
    for mode in (jax.jacfwd, jax.jacrev):
        slopes = jax.jit(mode(lambda *at: dry_friction(*at, **WIDTHS), (0, 1, 2)))
        by_slip, by_load, by_coefficient = slopes(*at)
        assert np.allclose(by_slip, -0.5 * 0.2 / 0.1 * np.eye(2), rtol=1e-15, atol=0)
        assert not np.any(by_load) and not np.any(by_coefficient)
    hessian = jax.jit(jax.hessian(lambda x: jaxspark.regularised_norm(x, 0.2)))(np.zeros(3))
    assert np.allclose(hessian, 5 * np.eye(3), rtol=1e-14, atol=0)


def test_dry_friction_in_single_precision():
    double = arrays([0.3, -0.4], [1.2, 0.9])
    slip, load = (x.astype(np.float32) for x in double)
    for number in (float, np.float64, jnp.asarray):
        others = {"coefficient": number(0.5), "slip_width": number(0.1), "load_floor": 0.2}
        force, expected = (dry_friction(*x, **others) for x in ((slip, load), double))
        assert force.dtype == np.float32 and np.allclose(force, expected, rtol=1e-6, atol=0)
    gradient = jax.jacrev(lambda slip: dry_friction(slip, 0 * load, 0.5, **WIDTHS))(0 * slip)
    assert gradient.dtype == np.float32 and np.all(np.isfinite(gradient))


def friction_with(args, slip, load):
    return dry_friction(slip, load, args["mu"], **{name: args[name] for name in WIDTHS})


def reference(rates, start, times):
    options = {"t_eval": times, "rtol": 1e-13, "atol": 1e-14}
    return solve_ivp(rates, (0.0, times[-1]), start, "DOP853", **options).y


# Holonomic constraints: a bead on a shaken parabola. Straight and at rest it is a rail.

WIRE = {"m": 0.7, "g": 9.81, "slope": 0.5, "curvature": 1.2, "lift": 0.4}
WIRE |= {"mu": 0.4, "slip_width": 1.0, "load_floor": 3.0}
RAIL = WIRE | {"curvature": 0.0, "lift": 0.0, "slip_width": 1e-7, "load_floor": 1e-7}


def wire(t, q, args):
    parabola = args["slope"] * q[0] + 0.5 * args["curvature"] * q[0] ** 2
    return {"wire": q[1] - parabola - args["lift"] * jnp.sin(2 * t)}


def wire_friction(t, q, v, lam, args):
    slip = v - jnp.stack([0 * t, 2 * args["lift"] * jnp.cos(2 * t)])
    steepness = args["slope"] + args["curvature"] * q[0]
    return friction_with(args, slip, lam["wire"] * jnp.sqrt(1 + steepness**2))


BEAD = LagrangianSystem(helpers.pendulum_lagrangian, holonomic=wire, friction=wire_friction)


def on_the_wire(t, x, rate, args):
    """Position, velocity and multiplier by `x` and `x'`; `x''`, and the power of friction."""
    steep, shaken = args["slope"] + args["curvature"] * x, args["lift"] * jnp.sin(2 * t)
    y = args["slope"] * x + 0.5 * args["curvature"] * x**2 + shaken
    y_rate = steep * rate + 2 * args["lift"] * jnp.cos(2 * t)
    rest, square = args["curvature"] * rate**2 - 4 * shaken + args["g"], 1 + steep**2
    lam, length = -args["m"] * rest / square, jnp.sqrt(square)
    load, slip = jnp.hypot(lam * length, args["load_floor"]), length * rate
    force = -args["mu"] * load * slip / jnp.hypot(slip, args["slip_width"])
    gain = (steep * lam + force / length) / args["m"]
    return jnp.stack([x, y]), jnp.stack([rate, y_rate]), {"wire": lam}, gain, force * slip


def bead_motion(times, args):
    """`x`, `x'` and the work of friction."""

    @jax.jit
    def rates(t, x):
        *_, gain, power = on_the_wire(t, x[0], x[1], args)
        return jnp.stack([x[1], gain, power])

    return reference(rates, [0.3, 2.0, 0.0], times)


def bead_start(x, rate, args):
    return on_the_wire(*arrays(0.0, x, rate), args)[:2]


# Nonholonomic constraints: a skate whose blade rubs.

RUBBING = helpers.KNIFE_EDGE_ARGS | {"mu": 0.3, "slip_width": 1.0, "load_floor": 3.0}
INERTIA = np.array([1.2, 1.2, 0.7])


def blade_friction(t, q, v, psi, args):
    along = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2]), jnp.zeros_like(q[2])])
    return along * friction_with(args, jnp.sum(along * v)[None], psi)


def blade_reaction(t, y, z, psi, args):
    across = jnp.stack([jnp.sin(y[2]), -jnp.cos(y[2]), jnp.zeros_like(y[2])])
    return blade_friction(t, y, z, psi, args) - across * psi


SKATE = LagrangianSystem(helpers.knife_edge_lagrangian, None, helpers.edge, None, blade_friction)


def skate_end():
    """Position and velocity after a second, by the speed along the blade."""

    def velocity(x):
        return np.array([x[3] * np.cos(x[2]), x[3] * np.sin(x[2]), 1.7])

    def rates(t, x):
        v = velocity(x)
        load = np.hypot(knife_edge_reaction(x, v), RUBBING["load_floor"])
        force = -RUBBING["mu"] * load * x[3] / np.hypot(x[3], RUBBING["slip_width"])
        return [*v, RUBBING["slope"] * np.cos(x[2]) + force / RUBBING["m"]]

    x = reference(rates, [0.1, -0.2, 0.4, 0.9], [0.0, 1.0])[:, -1]
    return arrays(x[:3], velocity(x))


# Solutions by Lobatto's method.

weight = lambda t, q, v, args: jnp.stack([0 * t, 0 * t - args["m"] * args["g"]])
downhill = lambda t, q, v, args: jnp.stack([args["m"] * args["slope"] + 0 * t, 0 * t, 0 * t])
FORMS = {
    "bead": BEAD,
    "bead, mechanical": jaxspark.MechanicalSystem(
        lambda t, q, args: args["m"] * jnp.eye(2), weight, holonomic=wire, friction=wire_friction
    ),
    "bead, constrained": jaxspark.ConstrainedSystem(
        weight, p=lambda t, y, z, args: args["m"] * z, g=wire, friction=wire_friction
    ),
    "skate": SKATE,
    "skate, mechanical": jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.diag(INERTIA), downhill, None, helpers.edge, blade_friction
    ),
    "skate, constrained": jaxspark.ConstrainedSystem(
        downhill, p=lambda t, y, z, args: INERTIA * z, k=helpers.edge, reaction=blade_reaction
    ),
}


def solve(form, start, args):
    options = {"t1": 1.0, "num_steps": 40, "multipliers": True}
    solution = jaxspark.rollout(FORMS[form], *arrays(*start), args, method=Lobatto(3), **options)
    constraints = solution.stats.max_g, solution.stats.max_gdot, solution.stats.max_k
    assert max(constraints) <= 1e-14
    return solution


def test_block_on_a_rail():
    solution = solve("bead", bead_start(0.0, -1.5, RAIL), RAIL)
    t, direction = np.asarray(solution.ts)[:, None], np.array([1.0, 0.5])
    gain = 9.81 * (0.4 - 0.5) / 1.25
    assert np.max(np.abs(solution.ys - (-1.5 * t + gain * t**2 / 2) * direction)) <= 1e-13
    assert np.max(np.abs(solution.zs - (-1.5 + gain * t) * direction)) <= 1e-13
    assert np.allclose(solution.multipliers.lam["wire"], -0.7 * 9.81 / 1.25, 1e-13, 0)


@pytest.mark.parametrize("width", [0.5, 0.25])
def test_block_that_sticks(width):
    """On a rougher rail it creeps, the slower the smaller the width."""
    args = RAIL | {"mu": 1.1, "slip_width": width}
    solution = solve("bead", bead_start(0.0, -0.2, args), args)
    creep = width * 0.5 / np.sqrt(1.1**2 - 0.5**2)
    assert abs(np.linalg.norm(solution.z1) - creep) <= 1e-3 * creep


def test_bead_on_a_wire():
    solution = solve("bead", bead_start(0.3, 2.0, WIRE), WIRE)
    expected = on_the_wire(solution.ts, *bead_motion(solution.ts, WIRE)[:2], WIRE)
    assert np.ptp(expected[2]["wire"]) > 5
    trajectory = (solution.ys.T, solution.zs.T, solution.multipliers.lam)
    for got, exact in zip(trajectory, expected):
        assert largest_difference(got, exact) <= 1e-6
    # The multiplier reported at a state is that of this state, to rounding error.
    lam = on_the_wire(solution.ts, solution.ys[:, 0], solution.zs[:, 0], WIRE)[2]
    assert largest_difference(solution.multipliers.lam, lam) <= 1e-13


def test_friction_takes_energy():
    """On a wire at rest: at every step, and as much as it should."""
    args = WIRE | {"lift": 0.0}
    solution = solve("bead", bead_start(0.3, 2.0, args), args)
    energies = jaxspark.diagnostics.energy(BEAD, solution.ts, solution.ys, solution.zs, args)
    work = bead_motion(solution.ts, args)[-1]
    assert np.all(np.diff(energies) < 0) and work[-1] < -1
    assert np.max(np.abs(energies - energies[0] - work)) <= 1e-6 * abs(work[-1])


@pytest.mark.parametrize("form", [form for form in FORMS if "," in form])
def test_three_forms(form):
    name = form.split(",")[0]
    at = {"bead": (bead_start(0.3, 2.0, WIRE), WIRE), "skate": (knife_edge_start(), RUBBING)}
    got, expected = solve(form, *at[name]), solve(name, *at[name])
    assert largest_difference((got.ys, got.zs), (expected.ys, expected.zs)) <= 1e-13
    assert largest_difference(got.multipliers, expected.multipliers) <= 1e-12
    if name == "skate":  # Across the blade acts what acts without friction.
        psi = knife_edge_reaction(np.asarray(got.ys), np.asarray(got.zs))
        assert np.max(np.abs(got.multipliers.psi[:, 0] - psi)) <= 1e-13


LOBATTO = [Lobatto(3, psi=family) for family in ("B", "C", "C*", "D")]
CASES = [(BEAD, Lobatto(2), (60, 90, 135)), (BEAD, Lobatto(3), (24, 36, 54))]
CASES += [(SKATE, Gauss(2), (20, 30, 45)), (SKATE, RadauIIA(2), (40, 60, 90))]
CASES += [(SKATE, method, (40, 56, 80)) for method in LOBATTO]


@pytest.mark.parametrize("system, method, steps", CASES)
def test_order_with_friction(system, method, steps):
    if system is BEAD:
        args, start = WIRE, bead_start(0.3, 2.0, WIRE)
        expected = on_the_wire(*arrays(1.0, *bead_motion([0.0, 1.0], WIRE)[:2, -1]), WIRE)
    else:
        args, start, expected = RUBBING, arrays(*knife_edge_start()), skate_end()

    @jax.jit
    def run(y, z, num_steps):
        h = 1 / num_steps.astype(y.dtype)

        def body(i, carry):
            t = i.astype(y.dtype) * h
            return jaxspark.step(system, method, t, *carry, h, None, args)[:2]

        y, z = jax.lax.fori_loop(0, num_steps, body, (y, z))
        return y, z, jaxspark.multipliers(system, 1.0, y, z, args).lam

    errors = []
    for num_steps in steps:
        got = run(*start, jnp.asarray(num_steps))
        errors.append([largest_difference(a, b) for a, b in zip(got, expected)])
    for error in np.transpose(errors):
        assert error[-1] > 1e-10, "rounding errors would decide"
        assert abs(helpers.order(1 / np.array(steps), error) - method.order) <= 0.15


def test_derivatives_by_friction():
    """By the coefficient, both widths, and what the load depends on."""
    names = ("mu", "slip_width", "load_floor", "lift")

    def loss(theta):
        args = WIRE | dict(zip(names, theta))
        start = bead_start(0.3, 2.0, args)
        solution = jaxspark.rollout(
            BEAD, *start, args, method=Lobatto(2), h=0.05, num_steps=6, save_every=None, throw=False
        )
        return jnp.sum(solution.y1**3) + jnp.sum(solution.z1**2)

    theta = np.array([WIRE[name] for name in names])
    both = jax.jit(jax.value_and_grad(loss))
    reverse, forward = both(theta)[1], jax.jit(jax.jacfwd(loss))(theta)
    assert np.min(np.abs(reverse)) > 1e-3
    assert relative(reverse, forward) < 1e-12
    assert relative(reverse, differences(lambda x: both(x)[0], theta, 1e-2)) < 1e-9


@pytest.mark.parametrize("method", [Gauss(2), RadauIIA(2)], ids=str)
def test_friction_is_for_lobatto(method):
    start = bead_start(0.3, 2.0, WIRE)
    with pytest.raises(ValueError, match="friction.*has none there. Use jaxspark.Lobatto"):
        jaxspark.rollout(BEAD, *start, WIRE, method=method, h=0.1, num_steps=1)


def test_stiffly_accurate_stages_know_the_velocities_too():
    """Every stage of `GGL` is on the constraints, and so takes `friction`, with its derivatives."""
    start, method = arrays(*bead_start(0.3, 2.0, WIRE)), jaxspark.GGL(RadauIIA(3))

    def run(mu):
        options = {"t1": 1.0, "rtol": 1e-9, "atol": 1e-9, "multipliers": True, "throw": False}
        return jaxspark.solve(BEAD, *start, WIRE | {"mu": mu}, method=method, **options)

    end = run(jnp.asarray(WIRE["mu"]))
    x, rate, _ = bead_motion([0.0, 1.0], WIRE)[:, -1]
    y, z, lam, *_ = on_the_wire(*arrays(1.0, x, rate), WIRE)
    np.testing.assert_allclose(end.y1, y, rtol=0, atol=1e-8)
    np.testing.assert_allclose(end.z1, z, rtol=0, atol=1e-8)
    np.testing.assert_allclose(end.multipliers.lam["wire"][-1], lam["wire"], rtol=0, atol=1e-7)
    slope = jax.grad(lambda mu: run(mu).y1[0])(WIRE["mu"])
    ends = [bead_motion([0.0, 1.0], WIRE | {"mu": WIRE["mu"] + h})[0, -1] for h in (1e-4, -1e-4)]
    assert float(slope) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-5)
