"""Projection onto the constraints against formulas by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from helpers import (
    arrays,
    largest_difference,
    mixed,
    oscillator,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
)
from jaxspark import ConstrainedSystem, MechanicalSystem, RESULTS


T = 0.4
MASS = np.array([[3.0, 0.4, 0.1], [0.4, 1.0, -0.2], [0.1, -0.2, 0.5]])
Y, Z = np.array([0.9, -0.3, 0.5]), np.array([0.2, 0.7, -0.4])


def ellipsoid(t, q, args):
    weights = jnp.stack([1.0 + 0 * t, 1 + t, 2.0 + 0 * t])
    return 0.5 * (jnp.sum(weights * q**2, keepdims=True) - args)


def rolling(t, q, v, args):
    return (v[0] - q[1] * v[2] - 0.3 * jnp.cos(t))[None]


def on_the_ellipsoid():
    """With a constant mass matrix that is far from the identity."""
    return MechanicalSystem(
        lambda t, q, args: jnp.asarray(MASS), lambda t, q, v, args: -q, ellipsoid, rolling
    )


SYSTEM = on_the_ellipsoid()


def project(y, z, args=1.2, t=T, **options):
    return jaxspark.project(SYSTEM, t, y, z, args, throw=False, **options)


@pytest.fixture(scope="module")
def by_mass():
    """Compiled once, all arguments traced."""
    jitted = jax.jit(lambda y, z, args, t: project(y, z, args, t))
    return lambda y=Y, z=Z, args=1.2, t=T: jitted(*arrays(y, z, args, t))


def jacobians(y, z):
    """`g_y` and `k_z`, by hand."""
    G = np.array([[1.0, 1 + T, 2.0]]) * np.asarray(y)
    K = np.array([[1.0, 0.0, -y[1]]])
    return G, K


def assert_in_row_space(covector, rows, tolerance):
    """Orthogonal to the kernel of `rows`."""
    null = np.linalg.svd(rows)[2][len(rows) :]
    assert np.max(np.abs(null @ covector)) <= tolerance


def assert_consistent(projection, tolerance=1e-14):
    assert bool(projection.result == RESULTS.successful)
    y, z = np.asarray(projection.y), np.asarray(projection.z)
    weights = np.array([1.0, 1 + T, 2.0])
    g = 0.5 * (np.sum(weights * y**2) - 1.2)
    gdot = np.sum(weights * y * z) + 0.5 * y[1] ** 2
    k = z[0] - y[1] * z[2] - 0.3 * np.cos(T)
    assert max(abs(g), abs(gdot), abs(k)) <= tolerance
    assert np.allclose(projection.residuals.g, g, rtol=0, atol=1e-15)
    assert np.allclose(projection.residuals.gdot, gdot, rtol=0, atol=1e-15)
    assert np.allclose(projection.residuals.k, k, rtol=0, atol=1e-15)
    assert int(projection.rank.rank) == projection.rank.size == 2


@pytest.mark.parametrize("metric", ["mass", "identity"])
def test_projection_is_the_nearest_state(metric, by_mass):
    """Optimality: `M dy` is a combination of the constraint gradients at the solution."""
    if metric == "mass":
        projection, weight = by_mass(), MASS
    else:
        options = {"metric": "identity"}
        projection = jax.jit(lambda y, z: project(y, z, **options))(Y, Z)
        weight = np.eye(3)
    assert_consistent(projection)
    G, K = jacobians(projection.y, projection.z)
    dy, dz = projection.y - Y, projection.z - Z
    assert np.max(np.abs(dy)) > 0.01 and np.max(np.abs(dz)) > 0.01
    assert_in_row_space(weight @ dy, G, 1e-13)
    assert_in_row_space(weight @ dz, np.concatenate([G, K]), 1e-13)


def test_consistent_states_stay(by_mass):
    first = by_mass()
    again = by_mass(first.y, first.z)
    assert largest_difference((again.y, again.z), (first.y, first.z)) <= 1e-15


@pytest.mark.parametrize(
    "hold_y, hold_z",
    [
        (np.array([False, True, True]), np.array([False, True, False])),
        (np.array([False, True, False]), np.array([True, False, False])),
    ],
)
def test_held_coordinates(hold_y, hold_z):
    projection = jax.jit(lambda y, z: project(y, z, hold_y=hold_y, hold_z=hold_z))(Y, Z)
    assert_consistent(projection)
    y, z = np.asarray(projection.y), np.asarray(projection.z)
    assert np.array_equal(y[hold_y], Y[hold_y]) and np.array_equal(z[hold_z], Z[hold_z])
    # The others move as little as possible, with unit weights.
    G, K = jacobians(y, z)
    free = ~hold_y
    if np.sum(free) > 1:
        assert_in_row_space((y - Y)[free], G[:, free], 1e-13)


def test_holding_broadcasts_and_follows_the_structure():
    y, z = pendulum_start()
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * (v["x"] ** 2 + v["y"] ** 2),
        holonomic=lambda t, q, args: q["x"] ** 2 + q["y"] ** 2 - 1.0,
    )
    q, v = {"x": y[0], "y": y[1]}, {"x": z[0], "y": z[1]}
    projection = jaxspark.project(
        system, 0.0, q, v, hold_y={"x": True, "y": False}, hold_z={"x": False, "y": True}
    )
    assert float(projection.y["x"]) == float(y[0])
    assert float(projection.z["y"]) == float(z[1])
    assert abs(projection.y["y"] + np.sqrt(1 - y[0] ** 2)) <= 1e-15
    assert abs(projection.z["x"] + projection.y["y"] * z[1] / y[0]) <= 1e-14
    with pytest.raises(RuntimeError, match="holonomic constraint g number 0"):
        jaxspark.project(system, 0.0, {"x": 1.1 * y[0], "y": y[1]}, v, hold_y=True)


@pytest.mark.parametrize("hold_y", [np.array([0]), [True], {"x": True}, np.array([1, 0])], ids=str)
def test_a_hold_that_does_not_fit(hold_y):
    with pytest.raises(ValueError, match="hold_y must hold booleans"):
        jaxspark.project(pendulum(), 0.0, *pendulum_start(), PENDULUM_ARGS, hold_y=hold_y)


def test_derivatives_of_the_projection(by_mass):
    """Forward, reverse, and central differences, with respect to everything."""

    def both(y, z, args, t):
        projection = project(y, z, args, t)
        return jnp.concatenate([projection.y, projection.z])

    at = arrays(Y, Z, 1.2, T)
    forward = jax.jit(jax.jacfwd(both, (0, 1, 2, 3)))(*at)
    reverse = jax.jit(jax.jacrev(both, (0, 1, 2, 3)))(*at)
    assert largest_difference(reverse, forward) <= 1e-13

    step = 1e-5
    for which, point in enumerate(at):
        for index in np.ndindex(point.shape):
            ends = []
            for sign in (1, -1):
                moved = list(at)
                moved[which] = point.at[index].add(sign * step)
                projection = by_mass(*moved)
                ends.append(np.concatenate([projection.y, projection.z]))
            difference = (ends[0] - ends[1]) / (2 * step)
            column = np.asarray(forward[which])[(slice(None), *index)]
            assert np.max(np.abs(difference - column)) <= 1e-8
    # The projected velocity does depend on the time and on the given position.
    assert np.max(np.abs(forward[3])) > 0.1 and np.max(np.abs(forward[0][3:])) > 0.1


def impossible():
    """`x^2 + 1 = 0`."""
    return ConstrainedSystem(lambda t, y, z, args: -y, g=lambda t, y, args: y[:1] ** 2 + 1)


def test_impossible_position():
    y, z = np.array([0.3, 0.2]), np.array([0.1, -0.4])
    projection = jaxspark.project(impossible(), 0.0, y, z, throw=False)
    assert bool(projection.result == RESULTS.projection_failed)
    assert np.array_equal(projection.y, y) and np.array_equal(projection.z, z)
    assert float(projection.residuals.g[0]) >= 1
    with pytest.raises(RuntimeError) as caught:
        jaxspark.project(impossible(), 0.0, y, z)
    message = str(caught.value)
    assert "holonomic constraint g number 0" in message and "did not converge" in message


def test_impossible_velocity():
    system = ConstrainedSystem(lambda t, y, z, args: -y, k=lambda t, y, z, args: z[1:] ** 2 + 0.5)
    y, z = np.array([0.3, 0.2]), np.array([0.1, -0.4])
    with pytest.raises(RuntimeError, match="nonholonomic constraint k number 0"):
        jaxspark.project(system, 0.0, y, z)


def test_impossible_under_jit():
    @jax.jit
    def end(y, throw_nothing):
        return jaxspark.project(impossible(), 0.0, y, 0 * y).y

    with pytest.raises(Exception, match="did not converge"):
        jax.block_until_ready(end(np.array([0.3, 0.2]), 0))


def test_all_coordinates_held():
    y, z = pendulum_start()
    with pytest.raises(RuntimeError, match="holonomic constraint g"):
        jaxspark.project(pendulum(), 0.0, 1.1 * y, z, PENDULUM_ARGS, hold_y=True)


def test_unknown_metric():
    with pytest.raises((ValueError, TypeError), match="metric"):
        jaxspark.project(pendulum(), 0.0, *pendulum_start(), PENDULUM_ARGS, metric="energy")


def test_without_constraints_nothing_moves():
    y, z = arrays([0.3, 0.2], [0.1, -0.4])
    projection = jaxspark.project(oscillator(), 0.0, y, z, {"k": 2.0})
    assert np.array_equal(projection.y, y) and np.array_equal(projection.z, z)
    assert projection.rank.size == 0


# Velocities that are not the derivatives of the coordinates.


def test_scaled_velocities_and_time():
    """`y' = D z`: the same body in other units, projected in the same mass metric."""
    D = np.diag([2.0, 0.5, 10.0])
    scaled = ConstrainedSystem(
        lambda t, y, z, args: -y,
        v=lambda t, y, z, args: jnp.asarray(D) @ z,
        p=lambda t, y, z, args: jnp.asarray(D @ MASS @ D) @ z,
        g=ellipsoid,
        k=lambda t, y, z, args: rolling(t, y, jnp.asarray(D) @ z, args),
    )
    projection = jax.jit(lambda y, z: jaxspark.project(scaled, T, y, z, 1.2, throw=False))(
        Y, np.linalg.solve(D, Z)
    )
    expected = jax.jit(lambda y, z: project(y, z))(Y, Z)
    assert bool(projection.result == RESULTS.successful)
    assert largest_difference(projection.y, expected.y) <= 1e-14
    assert largest_difference(D @ projection.z, expected.z) <= 1e-14


def test_quaternion():
    """Seven coordinates, six velocities: the norm of the quaternion is reachable by none."""
    problem = problems.heavy_top()
    y = problem.y0 + np.array([0.02, -0.03, 0.01, 0.0, 0.03, -0.02, 0.01])
    z = problem.z0 + np.array([0.1, 0.2, -0.1, 0.0, 0.3, 0.1])
    projection = jax.jit(
        lambda y, z: jaxspark.project(problem.system, 0.0, y, z, problem.args, throw=False)
    )(y, z)
    assert bool(projection.result == RESULTS.successful)
    for residual in (projection.residuals.g, projection.residuals.gdot):
        assert np.max(np.abs(residual)) <= 1e-12
    # The change is `v_z x` at the start, with `v_z` of rank 6 in 7 dimensions.
    p0, pv = y[3], y[4:]
    radial = np.concatenate([np.zeros(3), [p0], pv])
    assert np.max(np.abs(projection.y - y)) > 1e-3
    assert abs(radial @ (projection.y - y)) <= 1e-15


def test_mixed_problem_starts_consistently():
    problem = mixed()
    residuals = jaxspark.diagnostics.constraint_residuals(
        problem.system, 0.0, problem.y0, problem.z0, problem.args
    )
    for residual in (residuals.g, residuals.gdot, residuals.k):
        assert residual.shape == (1,) and np.max(np.abs(residual)) <= 1e-15


def test_everything_held_but_the_velocity():
    """The natural call for a nonholonomic system: the configuration stays where it is."""
    system = MechanicalSystem(
        lambda t, q, args: jnp.asarray(MASS), lambda t, q, v, args: -q, nonholonomic=rolling
    )
    held = jaxspark.project(system, T, Y, Z, hold_y=jnp.ones(3, bool))
    free = jaxspark.project(system, T, Y, Z)
    assert bool(held.result == RESULTS.successful)
    assert np.array_equal(held.y, Y)
    residuals = jaxspark.diagnostics.constraint_residuals(system, T, held.y, held.z)
    assert np.max(np.abs(residuals.k)) <= 1e-15
    assert largest_difference(held.z, free.z) <= 1e-15
