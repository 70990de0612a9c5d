"""The references of the audit against closed forms, its starts, and what it makes of outcomes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import jaxspark
from benchmarks.audit._against import ratios_at_equal_error
from benchmarks.audit._cells import cell, known_ends, Outcome
from benchmarks.audit._equations import consistent, velocity_constraints
from benchmarks.audit._mechanism import diagonal, Mechanism, Start
from benchmarks.audit._members import ALL, MECHANISMS
from benchmarks.audit._methods import METHODS
from benchmarks.audit._perfect import fewest
from benchmarks.audit._reference import Reference, relative
from benchmarks.audit._statistics import summary


CLOSE = 2e-13


def on_a_line(force, t1, **options):
    """A unit mass that moves along x by `force(t, x, v)`, held there by a constraint."""

    def track(t, q, args):
        return q[1:]

    def pulled(t, q, v, args):
        pull = jnp.asarray(force(t, q[0], v[0]), q.dtype)
        return jnp.stack([pull, jnp.zeros_like(pull)])

    system = jaxspark.MechanicalSystem(diagonal(1, 1), pulled, track)
    return Mechanism("line", (), system, lambda rng: None, t1, **options)


def start_at(x, v):
    return Start(np.array([x, 0.0]), np.array([v, 0.0]), {})


def test_a_pendulum_from_rest_is_an_elliptic_function():
    mechanism = MECHANISMS["pendulum"]
    amplitude, w, t = 2.0, np.sqrt(9.81), mechanism.t1
    y0 = np.array([np.sin(amplitude), -np.cos(amplitude)])
    end = Reference(mechanism).at(Start(y0, np.zeros(2), {"length": jnp.asarray(1.0)}))
    k = np.sin(amplitude / 2)
    sn, cn, dn, _ = ellipj(ellipk(k**2) + w * t, k**2)
    angle, rate = 2 * np.arcsin(k * sn), 2 * w * k * cn
    exact = np.array([np.sin(angle), -np.cos(angle)])
    assert relative(end.y, exact) < CLOSE
    assert relative(end.z, rate * np.array([np.cos(angle), np.sin(angle)])) < CLOSE
    assert end.error < CLOSE
    # The tension, of a constraint `(q^2 - 1) / 2`.
    assert relative(end.multipliers, np.array([9.81 * np.cos(angle) + rate**2])) < 10 * CLOSE


def test_a_kink_at_a_given_time():
    at, w, t = 0.7, 3.0, 2.0
    mechanism = on_a_line(
        lambda t, x, v: -(w**2) * x + jnp.maximum(t - at, 0.0), t, kinks=lambda args: [at]
    )
    end = Reference(mechanism).at(start_at(1.0, 0.5))
    s = t - at
    x = np.cos(w * t) + 0.5 / w * np.sin(w * t) + (s - np.sin(w * s) / w) / w**2
    v = -w * np.sin(w * t) + 0.5 * np.cos(w * t) + (1 - np.cos(w * s)) / w**2
    assert relative(end.y, np.array([x, 0.0])) < CLOSE
    assert relative(end.z, np.array([v, 0.0])) < CLOSE
    assert end.kinks == (at,)


def test_a_jump_at_a_given_time():
    mechanism = on_a_line(
        lambda t, x, v: jnp.where(t < 0.7, 0.0, 5.0), 2.0, kinks=lambda args: [0.7]
    )
    end = Reference(mechanism).at(start_at(0.0, 1.0))
    assert relative(end.y, np.array([2 + 2.5 * 1.3**2, 0.0])) < CLOSE
    assert relative(end.z, np.array([1 + 5 * 1.3, 0.0])) < CLOSE


def test_a_stop_is_hit_and_left():
    stop, w = 0.3, 10.0
    mechanism = on_a_line(
        lambda t, x, v: -(w**2) * jnp.maximum(x - stop, 0.0), 2.0,
        switch=lambda t, y, z, args: y[0] - stop,
    )  # fmt: skip
    end = Reference(mechanism).at(start_at(0.0, 0.5))
    hit, left = stop / 0.5, stop / 0.5 + np.pi / w
    assert relative(np.array(end.kinks), np.array([hit, left])) < CLOSE
    assert relative(end.y, np.array([stop - 0.5 * (2 - left), 0.0])) < CLOSE
    assert relative(end.z, np.array([-0.5, 0.0])) < CLOSE


def test_a_jump_where_a_place_is_passed():
    mechanism = on_a_line(
        lambda t, x, v: jnp.where(x < 0.5, 0.0, -2.0), 2.2, switch=lambda t, y, z, args: y[0] - 0.5
    )
    end = Reference(mechanism).at(start_at(0.0, 1.0))
    assert relative(np.array(end.kinks), np.array([0.5, 1.5])) < CLOSE
    assert relative(end.y, np.array([0.5 - 0.7, 0.0])) < CLOSE
    assert relative(end.z, np.array([-1.0, 0.0])) < CLOSE


def test_forces_that_depend_on_reactions():
    """Dry friction of a loaded slide: the deceleration is constant where it slips fast."""

    def track(t, q, args):
        return q[1:]

    def friction(t, q, v, lam, args):
        return jaxspark.dry_friction(v, lam, 0.3, slip_width=1e-9, load_floor=1e-9)

    system = jaxspark.MechanicalSystem(
        diagonal(1, 1), lambda t, q, v, args: jnp.array([0.0, -10.0]), track, friction=friction
    )
    mechanism = Mechanism("slide", (), system, lambda rng: None, 1.0)
    end = Reference(mechanism).at(start_at(0.0, 5.0))
    assert relative(end.y, np.array([5 - 1.5, 0.0])) < CLOSE
    assert relative(end.multipliers, np.array([-10.0])) < CLOSE


def test_there_are_many_mechanisms_of_every_kind():
    assert len(MECHANISMS) == len(ALL) >= 40
    kinds = {kind for mechanism in ALL for kind in mechanism.kinds}
    assert kinds >= {
        "holonomic", "nonholonomic", "mixed", "rheonomic", "friction", "equilibrium", "from rest",
        "motion by reactions alone", "late force", "bump", "kink", "jump", "weak", "time scales",
        "fast", "units", "quaternion", "closed loop", "near singular", "massless coordinate",
    }  # fmt: skip
    assert any(mechanism.stiff for mechanism in ALL)
    for mechanism in ALL:
        has_kinks = mechanism.kinks is not None or mechanism.switch is not None
        assert not (mechanism.smooth and has_kinks)


def consistent_by_jaxspark(mechanism):
    for seed in range(2):
        y, z, args = mechanism.seeded(seed)
        scale = 1 + max(np.max(np.abs(y)), np.max(np.abs(z))) ** 2
        found = jaxspark.diagnostics.constraint_residuals(mechanism.system, 0.0, y, z, args)
        for residual in jax.tree.leaves(found):
            assert np.max(np.abs(residual), initial=0.0) < 1e-12 * scale


@pytest.mark.parametrize("name", ["snakeboard", "spatial_slider_crank", "mixed"])
def test_starts_are_consistent(name):
    consistent_by_jaxspark(MECHANISMS[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_all_starts_are_consistent(name):
    consistent_by_jaxspark(MECHANISMS[name])


def test_starts_are_the_same_again_and_differ_from_seed_to_seed():
    mechanism = MECHANISMS["pendulum"]
    first, again, other = (mechanism.seeded(seed) for seed in (0, 0, 1))
    assert np.array_equal(first.y, again.y) and not np.array_equal(first.y, other.y)


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_motions_are_known_and_not_chaotic(name):
    mechanism = MECHANISMS[name]
    reference, rng = Reference(mechanism), np.random.default_rng(0)
    start = mechanism.seeded(0)
    end = reference.at(start)
    assert end.error < 5e-12
    if mechanism.switch is not None:
        assert end.kinks
    size = 1e-8
    y, z = (x + size * rng.standard_normal(len(x)) for x in (start.y, start.z))
    y, z = consistent(mechanism.system, y, z, start.args)
    moved = max(relative(y, start.y), relative(z, start.z), size)
    there = reference.once(start._replace(y=y, z=z), mechanism.t1)
    assert relative(there, np.concatenate([end.y, end.z])) < 100 * moved


def test_the_derivative_of_a_holonomic_constraint_is_one_of_velocities():
    system, start = MECHANISMS["winch"].system, MECHANISMS["winch"].seeded(0)
    rates = velocity_constraints(system, jnp.asarray(0.0), start.y, start.z, start.args)
    assert rates.shape == (1,) and abs(float(rates[0])) < 1e-14


@pytest.mark.thorough
def test_a_cell_compares_with_the_reference():
    mechanism = MECHANISMS["turntable"]
    (loose, tight) = cell(mechanism, METHODS["Gauss(3)"], known_ends(mechanism, [0]), (1e-4, 1e-6))
    assert loose.good and tight.good and tight.accepted >= loose.accepted


def test_methods_skip_what_they_cannot_solve():
    massless, friction = MECHANISMS["massless_angle"], MECHANISMS["wire_with_friction"]
    assert not METHODS["Lobatto(4)"].suits(massless) and METHODS["Gauss(3)"].suits(massless)
    assert METHODS["Lobatto(4)"].suits(friction) and not METHODS["Gauss(3)"].suits(friction)


def test_the_summary_judges_successful_runs_alone():
    def run(error, outcome="successful"):
        return Outcome("pendulum", "Gauss(3)", 0, 1e-6, error, error, 10, 1, outcome)

    lines = [figure.line() for figure in summary([run(0.5), run(0.7), run(1e9, "failed")], 1)]
    assert any("median | 0.05 .. 3 | 0.6 | ok" in line for line in lines)
    assert any("2 successful, 1 failed" in line for line in lines)


def test_the_fewest_steps_are_those_of_equal_local_errors():
    assert fewest(np.full(20, 1e-9), 6) == pytest.approx(20)
    assert fewest(np.array([1e-9] * 10 + [1e-12] * 10), 6) < 19


def test_steps_are_compared_at_equal_errors():
    errors = np.logspace(-9, -4, 6)
    before, now = (np.stack([errors, c * errors ** (-1 / 6)], 1) for c in (3.0, 2.7))
    assert ratios_at_equal_error(before, now) == pytest.approx([0.9] * 12)
