"""Rolling bodies against closed forms and equations by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from helpers import largest_difference
from jaxspark import multibody as mb


pytest.importorskip("mujoco", reason="the mechanisms are those of benchmarks, which need it")
from benchmarks.bodies._rolling import by_hand, rattleback, steady_disk  # noqa: E402


TIGHT = {"rtol": 1e-11, "atol": 1e-11}
FREE = [mb.Free("free", "ground", "ball")]


def test_a_sphere_rolls_down_a_slope():
    """With 5/7 of the acceleration of one that slides."""
    slope, radius = 0.3, 0.25
    g = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    inertia = 0.4 * 2.0 * radius**2
    mechanism = mb.Mechanism(
        [mb.Body("ball", 2.0, inertia=inertia)], FREE, gravity=g,
        constraints=[mb.Rolling("rolls", "ground", "ball", mb.Sphere(radius))],
        guess={"free": [0, 0, radius, 1, 0, 0, 0]},
    )  # fmt: skip
    y, z = mechanism.state()
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.5, **TIGHT)
    far = 5 / 7 * 9.81 * np.sin(slope) * 1.5**2 / 2
    assert largest_difference(motion.y1[:3], np.array([far, 0, radius])) <= 1e-12
    # The normal force, and the friction that turns the ball.
    of = jaxspark.multipliers(mechanism.system, 1.5, motion.y1, motion.z1, mechanism.parameters)
    force = np.array([*of.lam, *of.psi])
    assert abs(force[0] + 2.0 * 9.81 * np.cos(slope)) <= 1e-11
    assert abs(np.linalg.norm(force[1:]) - 2 / 7 * 2.0 * 9.81 * np.sin(slope)) <= 1e-11


def test_a_disk_rolls_in_a_circle():
    mechanism, velocities, tilt, turn = steady_disk()
    y, z = mechanism.state({}, velocities)
    period = 2 * np.pi / turn
    motion = jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=period, ts=jnp.linspace(0, period, 5),
        **TIGHT,
    )  # fmt: skip
    for y_t in motion.ys:
        assert abs(float(mechanism.pose("disk", y_t)[2, 2]) - np.cos(tilt)) <= 1e-10
    assert largest_difference(motion.y1[:3], y[:3]) <= 1e-9
    assert float(motion.stats.max_g) <= 1e-14


def test_a_rattleback_against_equations_by_hand():
    mechanism, shape = rattleback()
    w = np.array([0.01, 0.02, -3.0])
    y, z = mechanism.state({}, {})
    up = np.asarray(mechanism.pose("stone", y))[2, :3]
    guess = mechanism.state({}, {})[1]
    at = mechanism._at["free"][1]
    r = -np.array([0, 0, 0.02])
    velocities = {"free": [*np.cross(w, -r), *w]}
    y, z = mechanism.state({}, velocities)
    assert guess.shape == z.shape and len(at) == 6
    end = 0.7
    motion = jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=end, max_steps=4000, **TIGHT
    )
    other = scipy.integrate.solve_ivp(
        by_hand, (0, end), [*up, *w], args=(shape,), method="DOP853", rtol=1e-12, atol=1e-12
    ).y[:, -1]
    assert largest_difference(motion.z1[3:], other[3:]) <= 1e-8
    assert largest_difference(mechanism.pose("stone", motion.y1)[2, :3], other[:3]) <= 1e-9
    first, last = (sum(mechanism.energy(*x)) for x in ((y, z), (motion.y1, motion.z1)))
    assert abs(float(first - last)) <= 1e-11


def test_gradients_of_rolling():
    """By the shape, forward, reverse and by differences."""
    mechanism, _ = rattleback()
    y, z = mechanism.state({}, {"free": [0, 0, 0, 0, 0, 0]})
    z = z + jnp.asarray([0.04, 0.0, 0.0, 0.0, 2.0, 0.0])

    def end(semiaxes):
        args = jax.tree.map(lambda x: x, mechanism.parameters)
        args["constraints"]["rolls"]["shape"]["semiaxes"] = semiaxes
        start = jaxspark.project(mechanism.system, 0.0, y, z, args)
        return jaxspark.solve(
            mechanism.system, start.y, start.z, args, t1=0.05, rtol=1e-12, atol=1e-12
        ).y1[4]

    at = jnp.array([0.2, 0.03, 0.02])
    reverse = jax.jit(jax.grad(end))(at)
    forward = jax.jit(jax.jacfwd(end))(at)
    assert largest_difference(reverse, forward) <= 1e-9 * float(jnp.max(jnp.abs(reverse)))
    value, h = jax.jit(end), 1e-5
    for k in range(3):
        step = jnp.zeros(3).at[k].set(h)
        difference = (value(at + step) - value(at - step)) / (2 * h)
        assert abs(float(difference - reverse[k])) <= 1e-5 * float(jnp.max(jnp.abs(reverse)))


def test_an_implicit_method_has_the_same_motion():
    """By `p`, `f`, `g` and `k`, where explicit methods have equations of their own."""
    mechanism, velocities, *_ = steady_disk()
    y, z = mechanism.state({}, velocities)
    z = z.at[5].add(0.5)
    z = jaxspark.project(mechanism.system, 0.0, y, z, mechanism.parameters).z
    run = lambda **o: jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.2, **o)
    assert (
        largest_difference(
            run(**TIGHT).y1, run(method=jaxspark.methods.Gauss(3), steps=jaxspark.EqualSteps(40)).y1
        )
        <= 1e-9
    )


def test_entries_of_a_velocity_that_are_none_follow_from_rolling():
    ball = mb.Mechanism(
        [mb.Body("ball", 1.0, inertia=0.4)],
        [mb.Free("free", "ground", "ball")],
        constraints=[mb.Rolling("rolls", "ground", "ball", mb.Sphere(2.0))],
    )
    up = [None, None, 2.0, 1.0, 0.0, 0.0, 0.0]
    y, z = ball.state(guess={"free": [0, 0, 2, 1, 0, 0, 0]},
                      velocities={"free": [None, None, None, 0.0, 3.0, 0.0]})  # fmt: skip
    np.testing.assert_allclose(z, [6.0, 0, 0, 0, 3.0, 0], atol=1e-12)
    with pytest.raises(ValueError, match="'free' has other coordinates than velocities"):
        ball.state({"free": up})
    with pytest.raises(ValueError, match="'free' has 6 of these"):
        ball.state(velocities={"free": [float("nan"), 0, 0, 0, 0, 0]})
    np.testing.assert_allclose(ball.position("ball", y), [0, 0, 2.0], atol=1e-12)
