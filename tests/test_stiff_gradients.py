"""Derivatives through stiff springs, and how accurate states and tensions are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import GGL, RadauIIA


def swing(method, args, **options):
    """A function of the end of a pendulum on a spring, with mass, length and damping in `args`."""
    free = jaxspark.MechanicalSystem(
        lambda t, q, args: args["m"] * jnp.eye(2), lambda t, q, v, args: args["m"] * GRAVITY
    )
    system = jaxspark.stiff.Elongated(
        free, lambda t, q, args: jnp.sqrt(jnp.sum(q**2)) - args["l"],
        lambda args: args["k"], lambda args: args["d"],
    )  # fmt: skip
    along = jnp.array([jnp.sin(1.0), -jnp.cos(1.0)])
    length = args["l"] + args["m"] * jnp.cos(1.0) / args["k"]
    y0, z0 = jaxspark.stiff.elongate(system, 0.0, length * along, jnp.zeros(2), args)
    end = jaxspark.solve(
        system, y0, z0, args, method=method, t1=1.0, max_steps=256, throw=False, **options
    )
    return jnp.sum(end.y1[0] ** 3) + end.z1[0][0] + end.z1[1]


GRAVITY = np.array([0.0, -9.81])
ARGS = {"m": jnp.array(1.3), "l": jnp.array(0.8), "k": jnp.array(400.0), "d": jnp.array(6.0)}


def test_derivatives_of_given_steps():
    """Forward, reverse and differences, of the same steps: by mass, length, stiffness, damping."""
    options = dict(steps=jaxspark.EqualSteps(20))
    value = jax.jit(lambda args: swing(GGL(RadauIIA(3)), args, **options))
    reverse = jax.jit(jax.grad(value))(ARGS)
    forward = jax.jit(jax.jacfwd(value))(ARGS)
    for key in ARGS:

        def moved(by, key=key):
            return value({**ARGS, key: ARGS[key] * (1 + by)})

        first, second = ((moved(h) - moved(-h)) / (2 * h) for h in (1e-2, 5e-3))
        third = (moved(2.5e-3) - moved(-2.5e-3)) / 5e-3
        better = (4 * second - first) / 3, (4 * third - second) / 3
        difference = (16 * better[1] - better[0]) / 15 / ARGS[key]
        assert abs(reverse[key] - forward[key]) <= 1e-12 * abs(forward[key])
        assert abs(reverse[key] - difference) <= 1e-6 * abs(difference)


def test_derivatives_of_adaptive_steps():
    def value(args):
        return swing(GGL(RadauIIA(3)), args, rtol=1e-8)

    reverse = jax.jit(jax.grad(value))(ARGS)
    forward = jax.jit(jax.jacfwd(value))(ARGS)
    exact = jax.jit(jax.jacfwd(lambda args: swing(jaxspark.Gauss(3), args, rtol=1e-10)))(ARGS)
    for key in ARGS:
        assert abs(reverse[key] - forward[key]) <= 1e-9 * abs(exact[key])
        assert abs(reverse[key] - exact[key]) <= 1e-4 * abs(exact[key])


def test_second_derivatives():
    options = dict(steps=jaxspark.EqualSteps(10))

    def value(length):
        return swing(GGL(RadauIIA(2)), {**ARGS, "l": length}, **options)

    slope = jax.jit(jax.grad(value))
    found = jax.jit(jax.grad(jax.grad(value)))(ARGS["l"])
    h = 1e-3
    wide, narrow = ((slope(ARGS["l"] + x) - slope(ARGS["l"] - x)) / (2 * x) for x in (h, h / 2))
    assert abs(found - (4 * narrow - wide) / 3) <= 1e-7 * abs(found)


def hanging():
    """A unit mass on a spring, from its lowest point."""
    free = jaxspark.MechanicalSystem(lambda t, q, args: jnp.eye(2), lambda t, q, v, args: GRAVITY)

    def stretch(t, q, args):
        return jnp.sqrt(jnp.sum(q**2)) - 1.0

    return jaxspark.stiff.Elongated(free, stretch, lambda args: args["k"])


@pytest.mark.parametrize("tolerance, error", [(1e-4, 0.1), (1e-6, 0.01), (1e-9, 2e-4)])
def test_tensions_do_not_depend_on_the_stiffness(tolerance, error):
    """Weight and centripetal force of the rigid pendulum; a stiffer spring errs no more."""
    system, slowly = hanging(), GGL(RadauIIA(3), error_norm="slow motion")

    @jax.jit
    def worst(k):
        q0 = (1 + 10.81 / k) * jnp.array([0.0, -1.0])
        y0, z0 = jaxspark.stiff.elongate(system, 0.0, q0, jnp.array([1.0, 0.0]), {"k": k})
        found = jaxspark.solve(
            system, (y0[0], 10.81 / k), z0, {"k": k}, method=slowly, t1=2.0,
            rtol=tolerance,
            ts=jnp.linspace(0.0, 2.0, 9), multipliers=True,
            throw=False,
        )  # fmt: skip
        q, v = found.ys[0], found.zs[0]
        along = -9.81 * q[:, 1] / jnp.sqrt(jnp.sum(q**2, 1))
        exact = jnp.sum(v**2, 1) + along
        tensions = jnp.stack([found.multipliers.lam, k * found.ys[1]])
        return jnp.max(jnp.abs(tensions - exact[None, :]))

    for k in (1e8, 1e11, 1e14):
        assert float(worst(k)) <= error


def test_iterations_end_late_enough():
    """What Newton's iteration leaves in the velocities does not add up: errors are tolerances.

    A skate with friction that depends on its multiplier, on a soft spring.
    """

    def lagrangian(t, q, v, args):
        stretch = jnp.sqrt(jnp.sum((q[:2] - 1.0) ** 2)) - 1
        return 0.5 * (jnp.sum(v[:2] ** 2) + 0.3 * v[2] ** 2) - 2 * q[1] - 50 * stretch**2

    def blade(t, q, v, args):
        return v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])

    def rubbing(t, q, v, psi, args):
        return -0.1 * jnp.sqrt(psi**2 + 1.0) * jnp.tanh(v)

    skate = jaxspark.LagrangianSystem(lagrangian, nonholonomic=blade, nonideal=rubbing)
    q0, v0 = jnp.array([0.0, 0.0, 0.3]), jnp.array([jnp.cos(0.3), jnp.sin(0.3), 1.0])
    exact = jaxspark.rollout(skate, q0, v0, method=jaxspark.Gauss(4), t1=1.0, num_steps=2000)
    for tolerance in (1e-7, 1e-9):
        found = jaxspark.solve(skate, q0, v0, method=GGL(RadauIIA(3)), t1=1.0, rtol=tolerance)
        assert np.max(np.abs(found.y1 - exact.y1)) <= 10 * tolerance
