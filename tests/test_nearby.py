"""Back onto the constraints from nearby, and the linear system behind it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import mixed
from jaxspark._consistent import constraint_jacobian, project_nearby
from jaxspark._kkt import saddle_solve
from jaxspark._system import flatten


def saddle(nz, m, seed=0):
    """A mass matrix, a Jacobian, right-hand sides, and the solution by NumPy."""
    rng = np.random.default_rng(seed)
    root, C = rng.normal(size=(nz, nz)), rng.normal(size=(m, nz))
    M, r, b = root @ root.T + np.eye(nz), rng.normal(size=(nz, 2)), rng.normal(size=(m, 2))
    return M, C, r, b


def by_numpy(M, C, r, b):
    m = len(C)
    matrix = np.block([[M, C.T], [C, np.zeros((m, m))]])
    return np.linalg.solve(matrix, np.concatenate([r, b]))


def solution(M, C, r, b):
    return np.concatenate(jax.jit(saddle_solve)(M, *map(jnp.asarray, (C, r, b))))


@pytest.mark.parametrize("sizes", [(1, 0), (3, 2), (11, 5), (12, 5)])
def test_solution(sizes):
    problem = saddle(*sizes)
    np.testing.assert_allclose(solution(*problem), by_numpy(*problem), rtol=0, atol=2e-13)


def test_solution_with_unit_masses():
    _, C, r, b = saddle(5, 2)
    found = solution(None, C, r, b)
    np.testing.assert_allclose(found, by_numpy(np.eye(5), C, r, b), rtol=0, atol=1e-14)


def test_masses_of_different_size():
    M, C, r, b = saddle(5, 2)
    scale = 10.0 ** np.array([-9, 3, 0, -4, 6])
    M = scale[:, None] * M * scale[None, :]
    # Exact to rounding error entry by entry, as that of the problem without scales is.
    plain = by_numpy(*saddle(5, 2)[:1], C * 1.0, r, b)
    found = solution(M, C * scale, scale[:, None] * r, b)
    found[:5] *= scale[:, None]
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-13)


@pytest.mark.parametrize("sizes", [(3, 2), (12, 5)])
def test_a_body_without_mass(sizes):
    M, C, r, b = saddle(*sizes)
    M[0], M[:, 0] = 0, 0
    np.testing.assert_allclose(solution(M, C, r, b), by_numpy(M, C, r, b), rtol=0, atol=1e-12)


def test_matrices_that_are_not_positive_definite():
    _, C, r, b = saddle(2, 1)
    for c in (1e-4, 1e-10):
        s = np.sqrt(1 - c**2)
        for M in (np.array([[c, -s], [s, c]]), np.array([[c, 1.0], [1.0, c]])):
            expected = by_numpy(M, C, r, b)
            condition = np.linalg.cond(np.block([[M, C.T], [C, np.zeros((1, 1))]]))
            bound = 1e-15 * condition * np.max(np.abs(expected))
            np.testing.assert_allclose(solution(M, C, r, b), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("mass", [1e-6, 1e-20])
def test_a_light_body_that_is_held(mass):
    M, C = np.diag([mass, 1.0, 1.0]), np.array([[1.0, 1.0, 0.0]])
    r, b = np.ones((3, 1)), np.ones((1, 1))
    exact = 1 / (1 + mass)  # x = (exact, 1 - exact, 1), the limit of a massless body
    found = solution(M, C, r, b)[:, 0]
    np.testing.assert_allclose(found[:3], [exact, 1 - exact, 1.0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [(4, 2), (12, 5)])
def test_dependent_constraints_have_no_solution(sizes):
    M, C, r, b = saddle(*sizes)
    C[1] = 2 * C[0]
    assert np.all(np.isnan(solution(M, C, r, b)))


def test_lanes_are_solved_each_its_own_way():
    lanes = [saddle(4, 2, seed) for seed in range(3)]
    lanes[1][0][0], lanes[1][0][:, 0] = 0, 0
    lanes[2][1][1] = lanes[2][1][0]
    stacked = [jnp.asarray(np.stack(parts)) for parts in zip(*lanes, strict=True)]
    found = np.concatenate(jax.jit(jax.vmap(saddle_solve))(*stacked), 1)
    for lane in range(2):
        np.testing.assert_allclose(found[lane], by_numpy(*lanes[lane]), rtol=0, atol=1e-12)
    assert np.all(np.isnan(found[2]))


def test_derivatives_of_the_solution():
    M, C, r, b = saddle(4, 2)
    dM, dC, dr, db = saddle(4, 2, 1)

    def value(x):
        parts = (M + x * dM, C + x * dC, r + x * dr, b + x * db)
        return sum(jnp.sum(part**3) for part in saddle_solve(*map(jnp.asarray, parts)))

    def exactly(x):
        return np.sum(by_numpy(M + x * dM, C + x * dC, r + x * dr, b + x * db) ** 3)

    # Complex step: exact to rounding error.
    expected = exactly(1e-30j).imag / 1e-30
    for derivative in (jax.grad, jax.jacfwd):
        assert float(jax.jit(derivative(value))(0.0)) == pytest.approx(expected, rel=1e-11)
    second = (exactly(1e-3 + 1e-30j).imag - exactly(-1e-3 + 1e-30j).imag) / (2e-3 * 1e-30)
    finer = (exactly(5e-4 + 1e-30j).imag - exactly(-5e-4 + 1e-30j).imag) / (1e-3 * 1e-30)
    second = (4 * finer - second) / 3
    bends = [float(jax.jit(f(jax.grad(value)))(0.0)) for f in (jax.grad, jax.jacfwd)]
    assert bends == pytest.approx([second] * 2, rel=1e-7)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("part", [0, 1])
def test_derivative_by_one_block_alone(which, part):
    blocks = saddle(4, 2)

    def value(solve, x):
        changed = [*blocks]
        changed[which] = x
        return solve(*changed)[part]

    def traced(*parts):
        return saddle_solve(*map(jnp.asarray, parts))

    gradient = jax.jit(jax.grad(lambda x: jnp.sum(value(traced, x) ** 2)))(blocks[which])
    direction = np.random.default_rng(5).normal(size=blocks[which].shape)

    def exactly(*parts):
        x = by_numpy(*parts)
        return x[:4], x[4:]

    step = blocks[which] + 1e-30j * direction
    expected = np.sum(value(exactly, step) ** 2).imag / 1e-30
    assert float(jnp.sum(gradient * direction)) == pytest.approx(expected, rel=1e-10)


# The mixed problem: variable mass, two kinds of constraints, both moving.
PROBLEM = mixed()


def flat_mixed(args=None):
    start = (jnp.asarray(0.0), jnp.asarray(PROBLEM.y0), jnp.asarray(PROBLEM.z0))
    return flatten(PROBLEM.system, *start, args or PROBLEM.args)


def away(distance, args=None):
    """A state that far from the constraints, and its projection."""
    flat, y0, z0 = flat_mixed(args)
    rng = np.random.default_rng(0)
    y0, z0 = (x + distance * rng.normal(size=x.shape) for x in (y0, z0))
    return (y0, z0), project_nearby(flat, jnp.asarray(0.0), y0, z0)


nearby = jax.jit(away)


def residual(y, z):
    found = jaxspark.diagnostics.constraint_residuals(PROBLEM.system, 0.0, y, z, PROBLEM.args)
    return max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(found))


@pytest.mark.parametrize("distance", [1e-2, 1e-6, 1e-12])
def test_constraints_hold_to_rounding_error(distance):
    start, (y, z, good) = nearby(distance)
    assert bool(good) and residual(*start) >= 0.01 * distance
    assert residual(y, z) <= 4e-16


def test_along_the_normal_directions_of_the_start():
    flat, *_ = flat_mixed()
    (y0, z0), (y, z, _) = nearby(1e-3)
    mass = np.asarray(flat.mass(jnp.asarray(0.0), y0, z0))
    C = np.asarray(constraint_jacobian(flat, jnp.asarray(0.0), y0, z0))
    admissible = np.linalg.svd(C)[2][len(C) :]
    assert len(admissible) > 0
    for change in (np.asarray(y - y0), np.asarray(z - z0)):
        assert np.max(np.abs(admissible @ mass @ change)) <= 1e-15 < np.max(np.abs(change))


def test_derivatives():
    def value(x):
        args = jax.tree.map(lambda a: a * (1 + x), PROBLEM.args)
        _, (y, z, _) = away(1e-3 + 1e-3 * x, args)
        return jnp.sum(y**3) + jnp.sum(z**3)

    slope, value = jax.jit(jax.grad(value)), jax.jit(value)

    def richardson(function, step):
        coarse, fine = ((function(h) - function(-h)) / (2 * h) for h in (step, step / 2))
        return float(4 * fine - coarse) / 3

    expected = richardson(value, 1e-3)
    assert float(slope(0.0)) == pytest.approx(expected, rel=1e-8)
    assert float(jax.jit(jax.jacfwd(value))(0.0)) == pytest.approx(float(slope(0.0)), rel=1e-12)
    bend = jax.jit(jax.grad(slope))(0.0)
    assert float(bend) == pytest.approx(richardson(slope, 1e-3), rel=1e-7)


def test_too_far_away_is_a_failure():
    start, (y, z, good) = nearby(100.0)
    assert not bool(good)
    assert jnp.array_equal(y, start[0]) and jnp.array_equal(z, start[1])
