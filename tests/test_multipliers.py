"""The rank of the constraints, and multipliers against formulas by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import (
    arrays,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_reaction,
    knife_edge_start,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
    pendulum_tension,
)
from jaxspark import ConstrainedSystem


# The rank of the constraints.


def test_rank_and_null_direction():
    """`a, b, 2 a - 1000 b` as holonomic, `a + b` as nonholonomic constraint."""
    a, b = np.array([1.0, 2.0, 0.5, 0.0]), np.array([0.0, 1.0, -1.0, 3.0])
    rows = np.stack([a, b, 2 * a - 1000 * b])

    def system(k):
        return ConstrainedSystem(
            lambda t, y, z, args: -y,
            g=lambda t, y, args: jnp.asarray(rows) @ y,
            k=lambda t, y, z, args: (jnp.asarray(k) * z).sum(keepdims=True),
        )

    zeros = np.zeros(4)
    independent = np.array([0.0, 0.0, 1.0, 0.0])
    rank = jaxspark.diagnostics.constraint_rank(system(independent), 0.0, zeros, zeros)
    assert (int(rank.rank), rank.size) == (3, 4)
    direction = np.concatenate([np.ravel(x) for x in rank.null_direction])
    expected = np.array([1, -500, -0.5, 0]) / np.linalg.norm([1, -500, -0.5, 0])
    assert np.allclose(direction * np.sign(direction[0]), expected, rtol=0, atol=1e-14)
    rank = jaxspark.diagnostics.constraint_rank(system(a + b), 0.0, zeros, zeros)
    assert (int(rank.rank), rank.size) == (2, 4)
    assert rank.singular_values.shape == (4,)
    assert np.all(rank.singular_values[2:] <= 1e-14) and rank.singular_values[1] > 0.1


def test_scaling_is_not_deficiency():
    """Constraints in units that differ by 1e12 are as independent as others."""
    system = ConstrainedSystem(
        lambda t, y, z, args: -y,
        g=lambda t, y, args: jnp.stack([1e-6 * (y[0] + y[1]), 1e6 * (y[0] - y[1])]),
    )
    rank = jaxspark.diagnostics.constraint_rank(system, 0.0, np.zeros(2), np.zeros(2))
    assert int(rank.rank) == 2
    assert np.allclose(rank.singular_values, 1, rtol=0, atol=1e-12)


# Multipliers.


@pytest.fixture(scope="module")
def pendulum_multipliers():
    return jax.jit(lambda y, z: jaxspark.multipliers(pendulum(), 0.0, y, z, PENDULUM_ARGS))


@pytest.mark.parametrize("angle, rate", [(0.5, 1.0), (-2.0, 0.3), (3.0, 7.0)])
def test_tension_of_a_pendulum(angle, rate, pendulum_multipliers):
    y, z = pendulum_start(angle, rate)
    reported = pendulum_multipliers(y, z)
    tension = pendulum_tension(np.asarray(y), np.asarray(z))
    assert bool(reported.converged) and reported.lam.shape == (1,)
    assert abs(reported.lam[0] - tension) <= 1e-13 * (1 + abs(tension))
    weight = np.array([0, -PENDULUM_ARGS["g"]])
    expected = weight - y * tension / PENDULUM_ARGS["m"]
    assert np.max(np.abs(reported.zdot - expected)) <= 1e-13 * (1 + abs(tension))


def test_reaction_of_a_knife_edge():
    y, z = knife_edge_start()
    reported = jaxspark.multipliers(knife_edge(), 0.0, y, z, KNIFE_EDGE_ARGS)
    reaction = knife_edge_reaction(y, z)
    assert abs(reaction) > 1
    assert abs(reported.psi[0] - reaction) <= 1e-14 * abs(reaction)
    m, slope, angle = KNIFE_EDGE_ARGS["m"], KNIFE_EDGE_ARGS["slope"], y[2]
    expected = np.array([slope - reaction * np.sin(angle) / m, reaction * np.cos(angle) / m, 0.0])
    assert np.max(np.abs(reported.zdot - expected)) <= 1e-14


def test_multipliers_nonlinear_in_the_force():
    """A force `- psi - psi^3`: one Newton step is not enough."""
    system = ConstrainedSystem(
        lambda t, y, z, args: jnp.concatenate([3 + 0 * y[:1], -y[1:]]),
        k=lambda t, y, z, args: z[:1],
        reaction=lambda t, y, z, psi, args: jnp.concatenate([-psi - psi**3, 0 * psi]),
    )
    y, z = arrays([0.0, 1.0], [0.0, 0.0])
    reported = jaxspark.multipliers(system, 0.0, y, z)
    psi = float(reported.psi[0])
    assert bool(reported.converged)
    assert abs(psi + psi**3 - 3) <= 1e-14 and abs(reported.zdot[0]) <= 1e-15


def test_derivative_of_the_multipliers():
    loss = lambda m: jaxspark.multipliers(
        pendulum(), 0.0, *pendulum_start(), {**PENDULUM_ARGS, "m": m}
    ).lam[0]
    y, z = (np.asarray(x) for x in pendulum_start())
    expected = pendulum_tension(y, z) / PENDULUM_ARGS["m"]
    assert abs(jax.grad(loss)(1.3) - expected) <= 1e-13 * abs(expected)


def test_undetermined_multipliers():
    """Redundant constraints share their force arbitrarily: no number may be invented."""
    system = ConstrainedSystem(
        lambda t, y, z, args: jnp.asarray([1.0, -9.81]),
        g=lambda t, y, args: jnp.stack([y[1], 2 * y[1]]),
    )
    reported = jaxspark.multipliers(system, 0.0, np.zeros(2), np.array([1.0, 0.0]))
    assert not bool(reported.converged)
    assert np.all(np.isnan(reported.lam))


@pytest.mark.parametrize("units", [np.ones(3), np.array([1e-9, 1.0, 1e9])], ids=["alike", "far"])
@pytest.mark.parametrize(
    "masses", [np.ones(6), np.array([1.0, 1, 1, 1, 0, 0])], ids=["all", "some"]
)
def test_units_and_massless_coordinates_cost_no_digits(units, masses):
    """Constraints in units that differ by 1e18, and coordinates that these alone determine."""
    rng = np.random.default_rng(1)
    C, f, bias = rng.normal(size=(3, 6)), rng.normal(size=6), rng.normal(size=3)
    system = ConstrainedSystem(
        lambda t, y, z, args: jnp.asarray(f),
        p=lambda t, y, z, args: jnp.asarray(masses) * z,
        g=lambda t, y, args: jnp.asarray(units) * (jnp.asarray(C) @ y - 0.5 * bias * t**2),
    )
    matrix = np.block([[np.diag(masses), C.T], [C, np.zeros((3, 3))]])
    expected = np.linalg.solve(matrix, np.concatenate([f, bias]))
    found = jaxspark.multipliers(system, 0.0, np.zeros(6), np.zeros(6))
    assert bool(found.converged)
    np.testing.assert_allclose(
        found.zdot, expected[:6], rtol=0, atol=1e-13 * np.abs(expected).max()
    )
    np.testing.assert_allclose(found.lam * units, expected[6:], rtol=1e-12)


@pytest.mark.parametrize("solver", [None, jaxspark.linear.AcyclicNullSpace()])
def test_failing_lanes_poison_no_derivatives(solver):
    """By a mass that all lanes share: of two the force or the matrix fails."""

    def force(t, a, v, own, args):
        return jnp.stack([jnp.zeros_like(t), -jnp.sqrt(args["g"])])

    system = jaxspark.MultibodySystem(
        lambda t, a, own, args: jnp.stack([args["m"], args["m"] ** 2]),
        force,
        [jaxspark.Joint(lambda t, a, b, own, args: jnp.sum(a**2, keepdims=True) / 2, [(0, -1)])],
    )

    def tension(m, a, g):
        args = {"m": m, "g": g}
        found = jaxspark.multipliers(
            system, 0.0, a[None], jnp.zeros((1, 2)), args, linear_solver=solver
        )
        return jnp.sum(jax.tree.leaves(found.lam)[0]), found.converged

    def total(m, a, g):
        tensions, good = jax.vmap(lambda a, g: tension(m, a, g))(a, g)
        return jnp.sum(jnp.where(good, tensions, 0)), good

    positions = jnp.array([[0.0, -1.0], [0.6, -0.8], [0.0, 0.0], [0.6, -0.8]])
    gravity = jnp.array([9.0, -1.0, 9.0, 4.0])
    derivatives = [jax.grad(total, has_aux=True), jax.jacfwd(total, has_aux=True)]
    for derivative in derivatives:
        found, good = derivative(jnp.asarray(1.5), positions, gravity)
        assert good.tolist() == [True, False, False, True]
        # a . M^{-1} f / (a . M^{-1} a): 3, and 1.6 / (.36 m + .64).
        expected = -1.6 * 0.36 / (0.36 * 1.5 + 0.64) ** 2
        assert abs(found - expected) <= 1e-13 * abs(expected)
