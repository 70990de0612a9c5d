"""K2 and K3: both solvers against NumPy, scaling, singular mass matrices, whole rollouts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import arrays, largest_difference, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import ConstrainedSystem, Gauss, Lobatto, RESULTS
from jaxspark.linear import DenseLU, ElementwiseInverse, KKTBlocks


SOLVERS = [ElementwiseInverse(), jaxspark.linear.DenseInverse(), DenseLU()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["elementwise", "inverse", "LU"])


def random_blocks(nz, nlam, npsi, *, seed=0, mass=None, scales=(1.0, 1.0, 1.0)):
    """Blocks without symmetry; `scales` multiply masses, holonomic and nonholonomic rows."""
    rng = np.random.default_rng(seed)
    p_z = np.eye(nz) + 0.3 * rng.normal(size=(nz, nz)) if mass is None else mass
    G, K = rng.normal(size=(nlam, nz)), rng.normal(size=(npsi, nz))
    r_lam = -(G + 0.1 * rng.normal(size=G.shape)).T
    f_psi = -(K + 0.1 * rng.normal(size=K.shape)).T
    m, g, k = scales
    return KKTBlocks(*arrays(m * p_z, g * r_lam, k * f_psi, g * G, k * K), None)


def by_hand(blocks):
    """K2 and K3 as the paper writes them."""
    M, R, F, G, K = (
        np.asarray(getattr(blocks, name)) for name in ("p_z", "r_lam", "f_psi", "gdot_z", "k_z")
    )
    nlam, npsi = G.shape[0], K.shape[0]
    zero = lambda *shape: np.zeros(shape)
    K3 = np.block([[M, -R], [G, zero(nlam, nlam)]])
    K2 = np.block([
        [M, -R, -F],
        [G, zero(nlam, nlam + npsi)],
        [K, zero(npsi, nlam + npsi)],
    ])  # fmt: skip
    return K2, K3


def right_hand_sides(K2, K3, rows=3):
    rng = np.random.default_rng(7)
    return rng.normal(size=(rows, len(K2))), rng.normal(size=(1, len(K3)))


@eqx.filter_jit
def solve(solver, blocks, rhs2, rhs3):
    factors = solver.factor(blocks)
    return (
        solver.solve(factors, rhs2, rhs3),
        solver.solve_transposed(factors, rhs2, rhs3),
        solver.regular(factors),
    )


def assert_solves(solver, blocks, K2, K3):
    """Both systems and their transposes, to rounding times the condition number."""
    rhs2, rhs3 = right_hand_sides(K2, K3)
    (x2, x3), (y2, y3), regular = solve(solver, blocks, *arrays(rhs2, rhs3))
    assert bool(regular)
    condition = np.linalg.cond(K2)
    tolerance = 1e-15 * condition
    assert condition < 1e3
    assert largest_difference(x2, np.linalg.solve(K2, rhs2.T).T) <= tolerance
    assert largest_difference(x3, np.linalg.solve(K3, rhs3.T).T) <= tolerance
    assert largest_difference(y2, np.linalg.solve(K2.T, rhs2.T).T) <= tolerance
    assert largest_difference(y3, np.linalg.solve(K3.T, rhs3.T).T) <= tolerance


SIZES = [(4, 1, 1), (5, 2, 0), (3, 0, 2), (3, 0, 0), (6, 3, 2)]


@each_solver
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_against_numpy(solver, sizes):
    blocks = random_blocks(*sizes)
    K2, K3 = by_hand(blocks)
    assert np.array_equal(blocks.K2, K2) and np.array_equal(blocks.K3, K3)
    assert_solves(solver, blocks, K2, K3)


@each_solver
def test_the_transposed_solve_is_the_transpose(solver):
    blocks = random_blocks(4, 1, 1, seed=3)
    factors = solver.factor(blocks)
    shapes = jnp.zeros((2, 6)), jnp.zeros((1, 5))
    transpose = jax.linear_transpose(lambda a, b: solver.solve(factors, a, b), *shapes)
    K2, K3 = by_hand(blocks)
    rhs = arrays(*right_hand_sides(K2, K3, rows=2))
    got = solver.solve_transposed(factors, *rhs)
    assert largest_difference(got, transpose(rhs)) <= 1e-14


@each_solver
def test_singular_mass_matrix(solver):
    """Zero pivots in the velocity block, regular K2 and K3."""
    mass = np.diag([1.0, 0.0, 2.0, 0.0])
    blocks = random_blocks(4, 2, 1, mass=mass, seed=5)
    K2, K3 = by_hand(blocks)
    assert_solves(solver, blocks, K2, K3)


@each_solver
def test_bad_scaling_costs_no_digits(solver):
    """Masses of a milligram, constraints in millimetres: `D1 K D2` with known D1, D2."""
    sizes, (m, g, k) = (4, 1, 1), (1e-6, 1e3, 1e-4)
    blocks, plain = random_blocks(*sizes, scales=(m, g, k)), random_blocks(*sizes)
    K2, _ = by_hand(plain)
    rows = np.array([m] * 4 + [g, k])
    columns = np.array([1.0] * 4 + [g / m, k / m])
    scaled, scaled3 = by_hand(blocks)
    assert np.allclose(rows[:, None] * K2 * columns, scaled, rtol=1e-14, atol=0)
    assert np.linalg.cond(scaled) > 1e9
    rhs2, rhs3 = right_hand_sides(K2, scaled3)
    (x2, _), _, regular = solve(solver, blocks, *arrays(rows * rhs2, rhs3))
    assert bool(regular)
    expected = np.linalg.solve(K2, rhs2.T).T / columns
    relative = np.max(np.abs(x2 - expected) / np.max(np.abs(expected), 0))
    assert relative <= 1e-15 * np.linalg.cond(K2)


def singular_blocks():
    regular = random_blocks(4, 2, 1)
    twice = lambda rows: rows.at[1].set(-2 * rows[0])
    redundant = eqx.tree_at(lambda b: b.gdot_z, regular, twice(regular.gdot_z))
    repeated = eqx.tree_at(lambda b: b.k_z, regular, 3 * regular.gdot_z[:1])
    nothing = eqx.tree_at(lambda b: b.k_z, regular, 0 * regular.k_z)
    massless = random_blocks(3, 0, 0, mass=np.diag([1.0, 0.0, 1.0]))
    small = random_blocks(3, 1, 0)
    nan = eqx.tree_at(lambda b: b.p_z, small, small.p_z.at[1, 1].set(jnp.nan))
    # K2 is regular: only the two constraints together fix the massless direction.
    mass = np.diag([1.0, 1.0, 0.0])
    only_k3 = KKTBlocks(
        *arrays(mass, [[-1], [0], [0]], [[0], [0], [-1]], [[1, 0, 0]], [[0, 0, 1]]), None
    )
    return {
        "redundant": redundant, "repeated": repeated, "nothing": nothing,
        "massless": massless, "nan": nan, "only K3": only_k3,
    }  # fmt: skip


@each_solver
@pytest.mark.parametrize("name", sorted(singular_blocks()))
def test_singular_matrices_are_noticed(solver, name):
    blocks = singular_blocks()[name]
    if name == "only K3":
        assert np.linalg.cond(by_hand(blocks)[0]) < 10
    assert not bool(solver.regular(solver.factor(blocks)))


@each_solver
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_mass_matrix_in_place_of_k3(solver, sizes):
    """As methods of Lobatto type need it; also with no rows for one of the two matrices."""
    blocks = random_blocks(*sizes)
    without = dataclasses.replace(blocks, bordered=False)
    K2, _ = by_hand(blocks)
    mass = np.asarray(blocks.p_z)
    assert_solves(solver, without, K2, mass)
    factors = solver.factor(without)
    rhs2, rhs3 = arrays(*right_hand_sides(K2, mass))
    both = solver.solve(factors, rhs2, rhs3)
    first, nothing = solver.solve(factors, rhs2, rhs3[:0])
    assert nothing.shape == (0, len(mass)) and largest_difference(first, both[0]) <= 1e-14
    nothing, second = solver.solve(factors, rhs2[:0], rhs3)
    assert nothing.shape == (0, len(K2)) and largest_difference(second, both[1]) <= 1e-14


def bead(linear_solver, method=Gauss(4)):
    """A bead on the parabola `s = x^2`, its height a coordinate without mass.

    What remains is `x'' = -2 g x`.
    """

    def p(t, y, z, args):
        return z * jnp.asarray([1.0, 0.0])

    def f(t, y, z, args):
        return jnp.stack([jnp.zeros_like(args), -args])

    system = ConstrainedSystem(f, p=p, g=lambda t, y, args: y[1:] - y[:1] ** 2)
    y, z = arrays([0.5, 0.25], [0.3, 0.3])
    return jaxspark.rollout(
        system, y, z, jnp.asarray(2.0), method=method, h=0.1, num_steps=10, multipliers=True,
        linear_solver=linear_solver,
    )  # fmt: skip


@each_solver
def test_massless_coordinate_fixed_by_a_constraint(solver):
    solution = bead(solver)
    t = np.asarray(solution.ts)
    exact = 0.5 * np.cos(2 * t) + 0.15 * np.sin(2 * t)
    rate = -np.sin(2 * t) + 0.3 * np.cos(2 * t)
    assert np.max(np.abs(solution.ys[:, 0] - exact)) <= 1e-11
    assert np.max(np.abs(solution.zs[:, 0] - rate)) <= 1e-11
    assert np.max(np.abs(solution.ys[:, 1] - exact**2)) <= 1e-11
    # The support carries the weight.
    assert np.allclose(solution.multipliers.lam, -2.0, rtol=0, atol=1e-10)


@each_solver
def test_massless_coordinate_is_nothing_for_lobatto(solver):
    """Their last velocity multiplies the mass matrix alone: the error says so."""
    with pytest.raises(jaxspark.SolveError, match="for Lobatto methods, p_z must be regular"):
        bead(solver, Lobatto(3))


@pytest.fixture(scope="module")
def plain_pendulum():
    y, z = pendulum_start()
    return jaxspark.rollout(
        pendulum(), y, z, PENDULUM_ARGS, method=Gauss(2), h=0.1, num_steps=10, multipliers=True
    )


def test_rollouts_agree(plain_pendulum):
    """The default for a system of this size is the elementwise inverse."""
    y, z = pendulum_start()
    solution = jaxspark.rollout(
        pendulum(), y, z, PENDULUM_ARGS, method=Gauss(2), h=0.1, num_steps=10, multipliers=True,
        linear_solver=DenseLU(),
    )  # fmt: skip
    assert largest_difference(solution.ys, plain_pendulum.ys) <= 1e-13
    assert largest_difference(solution.zs, plain_pendulum.zs) <= 1e-13
    assert not np.array_equal(solution.zs, plain_pendulum.zs)


@pytest.mark.parametrize("checkpoint", ["stages", "none"])
def test_gradients_agree(checkpoint):
    """Whichever solver, and whether its factors are kept for the backward pass or not."""

    def height(args, solver):
        y, z = pendulum_start()
        solution = jaxspark.rollout(
            pendulum(), y, z, args, method=Gauss(2), h=0.1, num_steps=10, save_every=None,
            linear_solver=solver, checkpoint=checkpoint, throw=False, consistency_tol=None,
        )  # fmt: skip
        return solution.y1[1]

    args = jax.tree.map(jnp.asarray, PENDULUM_ARGS)
    first, *others = [jax.jit(jax.grad(height), static_argnums=1)(args, s) for s in SOLVERS]
    assert abs(first["g"]) > 1e-3
    for other in others:
        assert largest_difference(other, first) <= 1e-12


@pytest.mark.parametrize(
    "mass, scale, linear_solver",
    [(1e-6, 1e3, None), (1e6, 1e-3, None), (1e-6, 1e3, DenseLU())],
    ids=["light", "heavy", "light-dense"],
)
def test_units_do_not_matter(mass, scale, linear_solver, plain_pendulum):
    """The same motion whatever the unit of mass and that of the constraint."""
    system = jaxspark.LagrangianSystem(
        pendulum().lagrangian,
        holonomic=lambda t, q, args: scale * pendulum().holonomic(t, q, args),
    )
    y, z = pendulum_start()
    args = {**PENDULUM_ARGS, "m": mass * PENDULUM_ARGS["m"]}
    solution = jaxspark.rollout(
        system, y, z, args, method=Gauss(2), h=0.1, num_steps=10, multipliers=True,
        linear_solver=linear_solver, consistency_tol=None,
    )  # fmt: skip
    assert bool(solution.result == RESULTS.successful)
    assert largest_difference(solution.ys, plain_pendulum.ys) <= 1e-12
    assert largest_difference(solution.zs, plain_pendulum.zs) <= 1e-12
    tension = solution.multipliers.lam * (scale / mass)
    assert largest_difference(tension, plain_pendulum.multipliers.lam) <= 1e-12
