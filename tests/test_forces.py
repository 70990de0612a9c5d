"""Laws of forces: limits, power, derivatives, and motions against an independent integrator."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from jaxspark import forces


RATES = np.array([-3.0, -0.2, 0.0, 1e-3, 0.5, 40.0])


def test_friction_has_the_limits_of_its_parts():
    only = forces.friction(RATES, width=1e-9, coulomb=0.7)
    np.testing.assert_allclose(only, -0.7 * np.sign(RATES), atol=1e-12)
    np.testing.assert_allclose(forces.friction(RATES, width=1.0, viscous=0.3), -0.3 * RATES)
    law = {"coulomb": 1.0, "static": 1.5, "stribeck_rate": 0.1, "width": 1e-9}
    slow, fast = forces.friction(np.array([1e-4, 10.0]), **law)
    np.testing.assert_allclose([slow, fast], [-1.5, -1.0], rtol=1e-5)
    # Between, the curve of Stribeck: at its rate the excess has fallen to 1 / e.
    at = forces.friction(np.array(0.1), **law)
    np.testing.assert_allclose(at, -(1 + 0.5 / np.e), rtol=1e-9)


@pytest.mark.parametrize("other", ["static", "stribeck_rate"])
def test_half_a_stribeck_curve_is_refused(other):
    with pytest.raises(ValueError, match="belong together"):
        forces.friction(1.0, width=0.1, coulomb=1.0, **{other: 2.0})


def test_a_body_on_lugre_friction_sticks_creeps_and_slides():
    law = {"stiffness": 1e3, "damping": 60.0, "coulomb": 1.0, "static": 1.5, "stribeck_rate": 1e-2}

    def velocity(t, y, z, args):
        return jnp.stack([z[0], forces.lugre(z[0], y[1], viscous=0.4, **law)[1]])

    def force(t, y, z, args):
        push = args * jnp.clip(t, 0, 1)
        return jnp.stack([push + forces.lugre(z[0], y[1], viscous=0.4, **law)[0]])

    system = jaxspark.ConstrainedSystem(force, v=velocity)
    for push in (1.2, 2.0):
        end = jaxspark.solve(
            system, jnp.zeros(2), jnp.zeros(1), push, t1=3.0, method=jaxspark.Gauss(3), rtol=1e-8
        )

        def own(t, x, push=push):
            steady = 1.0 + 0.5 * np.exp(-((x[2] / 1e-2) ** 2))
            bend = x[2] - 1e3 * abs(x[2]) * x[1] / steady
            return [
                x[2],
                bend,
                push * np.clip(t, 0, 1) - (1e3 * x[1] + 60.0 * bend + 0.4 * x[2]),
            ]

        by_scipy = scipy.integrate.solve_ivp(
            own, (0, 3), np.zeros(3), method="Radau", rtol=1e-9, atol=1e-12
        ).y[:, -1]
        np.testing.assert_allclose([*end.y1, *end.z1], by_scipy, atol=1e-6)
        # Below the static friction it only creeps as far as the bristles bend.
        assert (by_scipy[0] < 5e-3) == (push < 1.5)


def test_drag_is_against_the_motion_and_smooth_at_rest():
    u = np.array([[3.0, 4.0], [0.0, 0.0]])
    found = forces.drag(u, np.array([2.0, 2.0]))
    np.testing.assert_allclose(found, [[-30.0, -40.0], [0.0, 0.0]])
    slope = jax.jacfwd(lambda u: forces.drag(u, jnp.array([2.0, 2.0])))(u)
    assert np.isfinite(slope).all() and not np.any(slope[1, :, 1])
    across = forces.drag(u, np.array([2.0, 2.0]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(across, [[0.0, -32.0], [0.0, 0.0]])


def test_drag_of_a_slender_arm_is_the_integral_of_strips():
    c, length, rate = 0.3, 1.7, 2.1
    points, weights = np.polynomial.legendre.leggauss(4)
    at, shares = length * (points + 1) / 2, c * length * weights / 2

    def velocities(z):
        return jnp.stack([0 * at, at * z[0]], 1)

    normals = np.broadcast_to([0.0, 1.0], (4, 2))
    moment = forces.generalised(
        velocities, jnp.array([rate]), lambda u: forces.drag(u, shares, normals)
    )
    np.testing.assert_allclose(moment, [-c * rate**2 * length**4 / 4], rtol=1e-12)


def test_generalised_forces_have_the_power_of_the_forces():
    rng = np.random.default_rng(0)
    A, z = rng.standard_normal((6, 4)), {"a": rng.standard_normal(3), "b": rng.standard_normal(1)}
    velocities = lambda z: (A @ jnp.concatenate([z["a"], z["b"]])).reshape(3, 2)
    law = lambda u: -u * jnp.abs(u)
    Q = forces.generalised(velocities, z, law)
    power = sum(float(jnp.sum(Q[key] * z[key])) for key in z)
    u = velocities(z)
    np.testing.assert_allclose(power, jnp.sum(law(u) * u), rtol=1e-12)
    assert jax.tree.structure(Q) == jax.tree.structure(z)


def test_backlash_is_free_within_its_play_and_a_spring_beyond():
    law = {"play": 0.1, "width": 1e-6, "stiffness": 50.0, "damping": 3.0}
    x = np.array([-0.3, -0.05, 0.0, 0.05, 0.3])
    found = forces.backlash(x, np.full(5, 2.0), **law)
    expected = [10.0 - 6.0, 0.0, 0.0, 0.0, -10.0 - 6.0]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    # An elastic force of a potential: its derivative by the deflection is the spring's everywhere.
    soft = {"play": 0.1, "width": 0.02, "stiffness": 50.0}
    slopes = jax.vmap(jax.grad(lambda x: forces.backlash(x, 0.0, **soft)))(jnp.asarray(x))
    assert np.all(slopes <= 0) and np.all(slopes >= -50.0)
    np.testing.assert_allclose(slopes[np.array([0, 4])], -50.0, rtol=1e-2)


def test_whole_numbers_are_numbers():
    assert float(forces.rotor_energy(0.001, 50.0, 0, 2.0)) == pytest.approx(5.0)
    assert float(forces.friction(1, width=1e-9, coulomb=0.5, viscous=0.1)) == pytest.approx(-0.6)
    assert float(forces.elastic(0, 1.5, stiffness=2.5, damping=0.3)) == pytest.approx(-0.45)
    np.testing.assert_allclose(forces.drag(np.array([[3, 4]]), np.array([0.2])), [[-3.0, -4.0]])
    for force in forces.lugre(1, 0.001, stiffness=10.0, damping=0.1, coulomb=1.0):
        assert np.isfinite(force)


def test_elastic_joints_are_springs():
    found = forces.elastic(2.0, 3.0, stiffness=5.0, damping=7.0, cubic=11.0)
    np.testing.assert_allclose(found, -(5.0 * 2 + 11.0 * 8 + 7.0 * 3))


def test_rotors_act_on_joint_and_carrier():
    inertia, ratio = 2e-4, 6.0
    energy = lambda v: forces.rotor_energy(inertia, -ratio, v[0], v[1])
    mass = jax.hessian(energy)(jnp.array([0.3, -0.8]))
    n = ratio
    np.testing.assert_allclose(mass, inertia * np.array([[1, -n], [-n, n**2]]), rtol=1e-12)
