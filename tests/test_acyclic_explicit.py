"""The explicit null-space method: its pivots, and solutions against dense matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark._blocks import BlockMatrix, dense, Pattern
from jaxspark._blocks._explicit import ExplicitNullSpace
from jaxspark._blocks._pivots import choose_pivots, order_rows
from rods import (
    backward_error,
    flat,
    ragged,
    random_tree,
    relative,
    right_hand_sides,
    rods,
    root_first,
    solve,
    solve_both,
    tip_first,
    with_values,
)


ANGLES = np.random.default_rng(3).uniform(-1.2, 1.2, 64)
SYSTEMS = {
    "chain, tip first": rods(tip_first(64), ANGLES),
    "chain, root first": rods(root_first(64), ANGLES),
    "random tree": rods(random_tree(64), ANGLES),
    "one rod": rods([-1], ANGLES),
    "ragged tree": ragged(24),
    "four-bar": rods(root_first(3), [1.3, 0.2, -1.1], closing=[2]),
    "closed chain": rods(root_first(20), ANGLES, closing=[19]),
    "two chains, one closed": rods([-1, 0, 1, -1, 3], ANGLES, closing=[2]),
    "floating": (Pattern([2, 2, 2], [(0, 1), (1, 2)]), np.r_[1.0:9.0].reshape(2, 2, 2)),
    "no rows": (Pattern([2, 1], np.zeros((0, 2))), np.zeros((0, 2, 2))),
    "nothing free": (Pattern([2], [(0, -1)] * 2), np.array([[[1.0, 2], [0, 0]], [[3, 4], [0, 0]]])),
}


@pytest.mark.parametrize("symmetric", [True, False], ids=["ideal", "general"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_solutions_are_those_of_the_dense_matrix(name, symmetric):
    pattern, B = SYSTEMS[name]
    matrix, solver = with_values(pattern, B, symmetric), ExplicitNullSpace()
    full, (f, g) = np.asarray(dense(pattern, matrix)), right_hand_sides(pattern)
    straight, transposed, regular = solve_both(solver, pattern, matrix, f, g)
    assert bool(regular)
    rhs = flat(pattern, f, g)
    assert relative(flat(pattern, *straight), np.linalg.solve(full, rhs)) <= 1e-10
    assert relative(flat(pattern, *transposed), np.linalg.solve(full.T, rhs)) <= 1e-10
    padding = np.setdiff1d(np.arange(pattern.num_blocks * pattern.width), pattern.unknowns)
    assert not np.any(np.asarray(straight[0]).reshape(-1, 3)[padding])


def test_rows_of_a_tree_are_ordered_and_those_of_a_loop_are_a_cluster():
    for name in ("chain, tip first", "chain, root first", "random tree"):
        plan = ExplicitNullSpace(loops="error").symbolic(SYSTEMS[name][0])
        assert plan.triangular
        assert np.all(plan.lower.columns <= plan.lower.rows)
        assert np.array_equal(np.unique(plan.lower.rows), np.arange(128))
    pattern = SYSTEMS["two chains, one closed"][0]
    order = order_rows(pattern, choose_pivots(pattern, "matching"))
    sizes = np.bincount(order.clusters)
    assert np.max(sizes) > 1 and np.sum(sizes) == pattern.num_rows
    plan = ExplicitNullSpace().symbolic(pattern)
    assert np.all(order.clusters[plan.lower.columns] <= order.clusters[plan.lower.rows])
    with pytest.raises(ValueError, match=r"A cycle: row 0.* depend on each other.*'cluster'"):
        ExplicitNullSpace(loops="error").symbolic(pattern)
    assert "1 cycles" in ExplicitNullSpace().explain_blocks(pattern)


@pytest.mark.parametrize("count", [1, 16, 64])
def test_entries_of_the_null_space_of_a_chain(count):
    """Each rod moves `x` and `y` of all rods after it, and has its own angle."""
    for parents, pivots in ((tip_first(count), "first_active"), (root_first(count), "matching")):
        plan = ExplicitNullSpace(pivots).symbolic(rods(parents, ANGLES)[0])
        assert plan.basis.size == count * (count + 1) + count
        assert plan.product.size == count**2
        assert f"Z has {plan.basis.size} entries" in ExplicitNullSpace(pivots).explain_blocks(
            plan.pattern
        )


def test_first_active_needs_children_first():
    pattern, B = rods(tip_first(16), ANGLES)
    matrix = with_values(pattern, B)
    assert np.array_equal(
        choose_pivots(pattern, "first_active"), np.ravel([(3 * i, 3 * i + 1) for i in range(16)])
    )
    error, regular = backward_error(ExplicitNullSpace("first_active"), pattern, matrix)
    assert error <= 1e-15 and regular
    expected = r"row 0 and row 2 both pick column 0, unknown 0 of block 0\. Number children first"
    with pytest.raises(ValueError, match=expected):
        ExplicitNullSpace("first_active").symbolic(rods(root_first(16), ANGLES)[0])
    with pytest.raises(ValueError, match="row 0 and row 1 both pick column 0"):
        ExplicitNullSpace("first_active").symbolic(rods(tip_first(16), ANGLES, "txy")[0])


@pytest.mark.parametrize("bend", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_first_active_loses_digits_where_a_chain_is_bent(bend):
    """The second row of each hinge picks the angle, whose coefficient is `sin(bend) / 2`."""
    pattern, B = rods(tip_first(64), np.full(64, np.pi / 2 - bend), "xty")
    matrix = with_values(pattern, B)
    expected = 2.0**-53 / (0.5 * np.sin(bend)) ** 2
    error, regular = backward_error(ExplicitNullSpace("first_active"), pattern, matrix)
    assert expected / 30 <= error <= 100 * expected
    assert regular
    error, regular = backward_error(ExplicitNullSpace(), pattern, matrix)
    assert error <= 1e-15 and regular


@pytest.mark.parametrize("bend", [1e-8, 0.0])
def test_a_vanishing_pivot_is_reported(bend):
    pattern, B = rods(tip_first(8), np.full(8, np.pi / 2 - bend), "xty")
    B = B if bend else np.where(np.abs(B) < 1e-15, 0, B)
    matrix, (f, g) = with_values(pattern, B), right_hand_sides(pattern)
    for one in (matrix, with_values(pattern, B, symmetric=False)):
        assert not solve(ExplicitNullSpace("first_active"), pattern, one, f, g)[1]
        assert solve(ExplicitNullSpace("matching"), pattern, one, f, g)[1]
    nan = eqx.tree_at(lambda m: m.B, matrix, matrix.B.at[3, 0, 1].set(jnp.nan))
    assert not solve(ExplicitNullSpace(), pattern, nan, f, g)[1]


def test_singular_matrices_are_reported():
    pattern, B = rods(root_first(4), ANGLES)
    f, g = right_hand_sides(pattern)
    matrix = with_values(pattern, B)
    free = eqx.tree_at(lambda m: m.K, matrix, matrix.K.at[3].set(0))
    assert not solve(ExplicitNullSpace(), pattern, free, f, g)[1]
    # Without inertia, but with mass: singular blocks, a regular matrix.
    massive = eqx.tree_at(lambda m: m.K, matrix, jnp.zeros_like(matrix.K).at[:, :2, :2].set(
        jnp.eye(2)))  # fmt: skip
    assert solve(ExplicitNullSpace(), pattern, massive, f, g)[1]
    error, _ = backward_error(ExplicitNullSpace(), pattern, massive)
    assert error <= 1e-14
    # A parallelogram that is folded: its rows depend on each other.
    pattern, B = rods(root_first(3), [0.0, 0.0, 0.0], closing=[2])
    assert not solve(
        ExplicitNullSpace(), pattern, with_values(pattern, B), *right_hand_sides(pattern)
    )[1]


def test_units_do_not_matter():
    """Positions in micrometres, masses in tonnes, and constraints multiplied by what one likes."""
    pattern, B = rods(root_first(12), ANGLES, closing=[11])
    matrix = with_values(pattern, B)
    scale = 10.0 ** np.random.default_rng(1).integers(-6, 7, pattern.num_rows)
    scaled = BlockMatrix(1e3 * matrix.K, jnp.asarray(scale)[:, None, None] * matrix.B)
    f, g = right_hand_sides(pattern)
    (x, lam), regular = solve(ExplicitNullSpace(), pattern, matrix, f, g)
    (x2, lam2), regular2 = solve(
        ExplicitNullSpace(), pattern, scaled, 1e3 * f, jnp.asarray(scale)[:, None] * g
    )
    assert bool(regular) and bool(regular2)
    assert relative(x2, x) <= 1e-11
    assert relative(scale[:, None] * lam2, 1e3 * lam) <= 1e-11


def test_single_precision():
    pattern, B = SYSTEMS["closed chain"]
    for symmetric in (True, False):
        matrix = with_values(pattern, B, symmetric, dtype=np.float32)
        f, g = right_hand_sides(pattern, dtype=np.float32)
        (x, lam), regular = solve(ExplicitNullSpace(), pattern, matrix, f, g)
        assert bool(regular) and x.dtype == lam.dtype == jnp.float32
        exact = np.linalg.solve(
            np.asarray(dense(pattern, matrix), float), flat(pattern, f, g).astype(float)
        )
        assert relative(flat(pattern, x, lam), exact) <= 1e-4


def test_given_pivots():
    pattern, B = rods(root_first(4), ANGLES)
    pivots = [0, 1, 3, 4, 6, 7, 9, 10]
    solver = ExplicitNullSpace(np.array(pivots))
    assert solver == ExplicitNullSpace(pivots) and solver.pivots == tuple(pivots)
    assert np.array_equal(choose_pivots(pattern, solver.pivots), pivots)
    assert np.array_equal(choose_pivots(pattern, "matching"), pivots)
    assert backward_error(solver, pattern, with_values(pattern, B))[0] <= 1e-15
    for wrong, message in (
        (pivots[:-1], "8 rows, but 7 pivots"),
        ([1, *pivots[1:]], r"pivot of row 0 is column 1 of 12, but .* columns \[0, 2\]"),
        ([*pivots[:-1], 99], "pivot of row 7 is column 99"),
        ([0, 1, 2, 2, *pivots[4:]], "row 2 and row 3 both pick column 2, unknown 2 of block 0"),
        ("largest", "must be 'first_active', 'matching' or columns, but are 'largest'"),
    ):
        with pytest.raises(ValueError, match=message):
            ExplicitNullSpace(wrong).symbolic(pattern)


def test_structures_that_cannot_work_are_refused():
    labels = ["hinge", "guide", "stop"]
    with pytest.raises(ValueError, match=r"Only 2 of the 3 rows.*no unknown is left for (\w+)\."):
        ExplicitNullSpace().symbolic(Pattern([2], [(0, -1)] * 3, labels=labels))
    entries = np.ones((3, 2, 2), bool)
    entries[1] = False
    empty = Pattern([2, 2], [(0, -1), (0, 1), (1, -1)], entries, labels)
    for pivots in ("matching", "first_active", (0, 1, 2)):
        with pytest.raises(ValueError, match=r"No unknown is constrained by guide\."):
            ExplicitNullSpace(pivots).symbolic(empty)
    twice = Pattern([3], [(0, -1)] * 3, labels=labels)
    with pytest.raises(ValueError, match="hinge, guide and stop all pick column 0"):
        ExplicitNullSpace("first_active").symbolic(twice)


def test_plans_are_hashable_and_compared_by_structure():
    again = rods(tip_first(64), ANGLES + 1)[0]
    pattern = SYSTEMS["chain, tip first"][0]
    plan = ExplicitNullSpace().symbolic(pattern)
    assert plan == ExplicitNullSpace().symbolic(again)
    assert hash(plan) == hash(ExplicitNullSpace().symbolic(again))
    assert plan != ExplicitNullSpace("first_active").symbolic(pattern)


@pytest.mark.parametrize("symmetric", [True, False], ids=["ideal", "general"])
@pytest.mark.parametrize("name", ["random tree", "four-bar", "ragged tree"])
def test_gradients_are_those_of_the_dense_matrix(name, symmetric):
    if name == "random tree":
        pattern, B = rods(random_tree(10), ANGLES)
    else:
        pattern, B = ragged(6) if name == "ragged tree" else SYSTEMS[name]
    matrix, rhs = with_values(pattern, B, symmetric), right_hand_sides(pattern, 2)
    weights = jnp.asarray(np.random.default_rng(8).normal(size=(pattern.size + len(B), 2)))

    def loss(solved, x, lam):
        both = jnp.concatenate([x.reshape(-1, 2)[pattern.unknowns], lam])
        return jnp.sum(weights * (jnp.sin(both) if solved else both))

    def ours(matrix, f, g):
        return loss(True, *solve(ExplicitNullSpace(), pattern, matrix, f, g)[0])

    def reference(matrix, f, g):
        both = jnp.concatenate([f.reshape(-1, 2)[pattern.unknowns], g])
        return jnp.sum(weights * jnp.sin(jnp.linalg.solve(dense(pattern, matrix), both)))

    expected = jax.grad(reference, (0, 1, 2))(matrix, *rhs)
    inside = jax.tree.map(
        lambda x: jnp.where(pattern.entries, x, 0), (expected[0].B, expected[0].C)
    )
    expected = (BlockMatrix(expected[0].K, *inside), *expected[1:])
    found = jax.grad(ours, (0, 1, 2))(matrix, *rhs)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.any(other) and relative(one, other) <= 1e-10


@pytest.mark.parametrize("name", ["four-bar", "random tree"])
def test_vmap_is_a_loop(name):
    closing = [2] if name == "four-bar" else []
    parents = root_first(3) if closing else random_tree(8)
    pattern, B = rods(parents, ANGLES, closing=closing)
    draws = range(4)
    matrices = [with_values(pattern, B, False, seed) for seed in draws]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *matrices)
    f, g = right_hand_sides(pattern)
    many = eqx.filter_vmap(lambda m: solve(ExplicitNullSpace(), pattern, m, f, g))(stacked)
    for draw in draws:
        one = solve(ExplicitNullSpace(), pattern, matrices[draw], f, g)
        for a, b in zip(jax.tree.leaves(many), jax.tree.leaves(one), strict=True):
            assert relative(np.asarray(a[draw], float), np.asarray(b, float)) <= 1e-13


def test_factors_once_and_a_column_at_a_time():
    pattern, B = SYSTEMS["random tree"]
    matrix, solver = with_values(pattern, B, False), ExplicitNullSpace()
    factors = eqx.filter_jit(solver.factor_blocks)(pattern, matrix)
    f, g = right_hand_sides(pattern)
    together = solver.solve_blocks(pattern, factors, f, g)
    for column in range(3):
        pick = lambda x: x[..., column : column + 1]
        alone = solver.solve_blocks(pattern, factors, pick(f), pick(g))
        for one, other in zip(alone, together, strict=True):
            assert relative(one, pick(other)) <= 1e-14
