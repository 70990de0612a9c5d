"""The range-space method: against dense matrices, its orders, and where it is not accurate."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

from benchmarks.large import _topologies as topologies
from jaxspark._blocks import dense, factor_saddle, solve_saddle, Watched
from jaxspark._blocks._pattern import multiply
from jaxspark.linear import AcyclicNullSpace, BlockMatrix, Pattern, RangeSpace
from rods import flat, ragged, relative, right_hand_sides, solve, solve_both, with_values


def rods_of(case):
    return case.pattern, np.asarray(case.matrix.B)


def floating():
    """Chains that nothing holds, of blocks of different sizes, and a block without rows."""
    sizes = [6, 7, 6, 2, 3, 7]
    rows = [*[(1, 0)] * 5, *[(2, 1)] * 3, (3, 4), (3, 4)]
    pattern = Pattern(sizes, rows)
    B = np.random.default_rng(2).normal(size=pattern.entries.shape)
    return pattern, B * pattern.entries


SYSTEMS = {
    "chain": rods_of(topologies.chain(24)),
    "chain, tip first": rods_of(topologies.chain(24, tip_first=True, order="tyx")),
    "one rod": rods_of(topologies.chain(1)),
    "binary tree": rods_of(topologies.binary_tree(31)),
    "random tree": rods_of(topologies.random_tree(24)),
    "star": rods_of(topologies.star(9)),
    "unequal sizes": ragged(12),
    "floating": floating(),
    "(6, 5)": rods_of(topologies.random_blocks(12, 6, 5, "binary tree")),
    "(6, 3)": rods_of(topologies.random_blocks(20, 6, 3)),
    "(7, 6)": rods_of(topologies.random_blocks(12, 7, 6)),
    "ring": rods_of(topologies.ring(20)),
    "ring of three": rods_of(topologies.ring(3)),
    "pinned chain": rods_of(topologies.pinned_chain(12)),
    "four-bar linkages": rods_of(topologies.four_bars(8)),
    "hanging points": rods_of(topologies.hanging_points(16, 0.0)),
}
PATHS = ("chain", "chain, tip first", "one rod", "floating", "(6, 3)", "(7, 6)", "pinned chain")
PAIRS = [(name, "rounds") for name in SYSTEMS] + [(name, "sweep") for name in PATHS]


@pytest.mark.parametrize("name, order", PAIRS)
def test_solutions_are_those_of_the_dense_matrix(name, order):
    pattern, B = SYSTEMS[name]
    matrix, (f, g) = with_values(pattern, B), right_hand_sides(pattern)
    full, rhs = np.asarray(dense(pattern, matrix)), flat(pattern, f, g)
    straight, transposed, regular = solve_both(RangeSpace(order), pattern, matrix, f, g)
    assert bool(regular)
    exact = np.linalg.solve(full, rhs)
    assert relative(flat(pattern, *straight), exact) <= 1e-10
    assert relative(flat(pattern, *transposed), exact) <= 1e-10
    assert not np.any(np.asarray(straight[0])[np.arange(pattern.width) >= pattern.sizes[:, None]])


def test_rows_of_a_joint_may_name_its_bodies_in_any_order():
    """Some rows as `(a, b)`, others as `(b, a)`: the signs tell."""
    pattern, B = SYSTEMS["random tree"]
    turned = np.random.default_rng(0).random(pattern.num_rows) < 0.5
    rows = np.where(turned[:, None], pattern.rows[:, ::-1], pattern.rows)
    other = Pattern(pattern.sizes, rows)
    matrix, (f, g) = with_values(pattern, B), right_hand_sides(pattern)
    swapped = jnp.where(jnp.asarray(turned)[:, None, None], matrix.B[:, ::-1], matrix.B)
    first, _ = solve(RangeSpace(), pattern, matrix, f, g)
    second, regular = solve(RangeSpace(), other, BlockMatrix(matrix.K, swapped), f, g)
    assert bool(regular)
    for x, y in zip(first, second, strict=True):
        assert relative(x, y) <= 1e-12


def error_of(case, solver):
    rhs = case.right_hand_side()
    (x, lam), regular = solve(solver, case.pattern, case.matrix, *rhs)
    return case.backward_error((x, lam), rhs), bool(regular)


@pytest.mark.parametrize("order", ["rounds", "sweep"])
@pytest.mark.parametrize("geometry", ["random", "straight", "folded", "bent"])
def test_accuracy_at_ordinary_mass_ratios(geometry, order):
    case = topologies.chain(128, geometry=geometry, ratio=0.1)
    error, regular = error_of(case, RangeSpace(order))
    assert error <= 1e-13 and regular


@pytest.mark.parametrize("make", [topologies.binary_tree, topologies.random_tree, topologies.ring])
def test_accuracy_of_trees_and_loops(make):
    error, regular = error_of(make(63), RangeSpace())
    assert error <= 1e-13 and regular


def test_orders():
    path, branched = topologies.chain(6).pattern, topologies.binary_tree(7).pattern
    with pytest.raises(ValueError, match="joints along paths; this mechanism branches"):
        RangeSpace("sweep").symbolic(branched)
    with pytest.raises(ValueError, match="order='sweep'"):
        RangeSpace("sweep").symbolic(topologies.ring(5).pattern)
    RangeSpace("auto").symbolic(branched)
    assert "one after the other" in RangeSpace("sweep").explain_blocks(path)
    assert "one after the other" not in RangeSpace("auto").explain_blocks(branched)
    # Half of a chain is eliminated in every round.
    plan = RangeSpace("rounds").symbolic(topologies.chain(1024).pattern)
    assert len(plan.rounds) <= 11 and plan.tail == 1
    assert f"in {len(plan.rounds)} rounds" in RangeSpace("rounds").explain_blocks(
        topologies.chain(1024).pattern
    )


def test_forces_must_be_ideal():
    pattern, B = SYSTEMS["chain"]
    matrix = with_values(pattern, B, symmetric=False)
    with pytest.raises(ValueError, match="RangeSpace needs ideal constraint forces"):
        RangeSpace().factor_blocks(pattern, matrix)


def test_batches_are_loops():
    for name, order in (("four-bar linkages", "rounds"), ("chain", "sweep")):
        pattern, B = SYSTEMS[name]
        several = [with_values(pattern, B, seed=i) for i in range(3)]
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *several)
        f, g = right_hand_sides(pattern)
        fs, gs = jnp.stack([f, -f, 0.5 * f]), jnp.stack([g, 2 * g, g])
        one = lambda matrix, f, g: solve(RangeSpace(order), pattern, matrix, f, g)
        batch = jax.vmap(one)(stacked, fs, gs)
        loop = [one(*at) for at in zip(several, fs, gs, strict=True)]
        loop = jax.tree.map(lambda *x: jnp.stack(x), *loop)
        for x, y in zip(jax.tree.leaves(batch), jax.tree.leaves(loop), strict=True):
            assert relative(np.asarray(x, float), np.asarray(y, float)) <= 1e-12


def test_single_precision():
    case = topologies.chain(512)
    single = jax.tree.map(lambda x: x.astype(jnp.float32), case.matrix)
    f, g = (x.astype(jnp.float32) for x in case.right_hand_side())
    rounded = topologies.Case("", case.pattern, jax.tree.map(lambda x: x.astype(float), single))
    exact = scipy.sparse.linalg.spsolve(rounded.csc(), case.compact(f, g).astype(float)[:, 0])
    for order in ("rounds", "sweep"):
        (x, lam), regular = solve(RangeSpace(order), case.pattern, single, f, g)
        assert x.dtype == lam.dtype == jnp.float32 and bool(regular)
        assert relative(case.compact(x, lam)[:, 0], exact) <= 1e-4


@eqx.filter_jit
def saddle(solver, pattern, matrix, f, g):
    factors = factor_saddle(solver, pattern, matrix)
    return solve_saddle(solver, pattern, matrix, factors, f, g), factors.fast


@pytest.mark.parametrize("make", [topologies.chain, topologies.binary_tree, topologies.ring])
def test_the_sure_solver_takes_over_at_extreme_mass_ratios(make):
    case = make(64, ratio=1e-12)
    f, g = case.right_hand_side()
    watched = Watched(AcyclicNullSpace(loops="border"))
    once, fast = saddle(watched, case.pattern, case.matrix, f, g)
    assert fast is not None
    assert case.backward_error(once, (f, g)) <= 1e-12
    kept, regular = solve(watched, case.pattern, case.matrix, f, g)
    assert bool(regular)
    for _ in range(watched.refinements(case.pattern)):
        left = [a - b for a, b in zip((f, g), multiply(case.pattern, case.matrix, *kept))]
        better = solve(watched, case.pattern, case.matrix, *left)[0]
        kept = tuple(a + b for a, b in zip(kept, better))
    assert case.backward_error(kept, (f, g)) <= 1e-12
    alone, _ = solve(RangeSpace(), case.pattern, case.matrix, f, g)
    assert case.backward_error(alone, (f, g)) > 1e-12


def test_each_lane_of_a_batch_gets_the_solver_that_it_needs():
    pattern = topologies.chain(16).pattern
    ordinary, extreme = topologies.chain(16), topologies.chain(16, ratio=1e-12)
    cases = (ordinary, extreme, ordinary)
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *(case.matrix for case in cases))
    f, g = ordinary.right_hand_side()
    watched = Watched(AcyclicNullSpace())

    def transposed(matrix):
        factors = watched.factor_blocks(pattern, matrix)
        return watched.solve_blocks_transposed(pattern, factors, f, g)

    once = lambda matrix: saddle(watched, pattern, matrix, f, g)[0]
    kept = lambda matrix: solve(watched, pattern, matrix, f, g)[0]
    for one in (once, kept, transposed):
        x, lam = jax.vmap(one)(stacked)
        for i, case in enumerate(cases):
            assert case.backward_error((x[i], lam[i]), (f, g)) <= 1e-12


def value(pattern, solution):
    x, lam = solution
    used = x.reshape(-1, x.shape[2])[pattern.unknowns]
    return jnp.sum(jnp.sin(used)) + jnp.sum(jnp.cos(lam) * lam)


@pytest.mark.parametrize("name", ["(6, 3)", "ring of three", "floating"])
def test_derivatives_are_those_of_the_dense_solution(name):
    pattern, B = SYSTEMS[name]
    check_derivatives(pattern, with_values(pattern, B))


def test_derivatives_where_the_sure_solver_takes_over():
    case = topologies.chain(4, ratio=1e-5)
    assert float(eqx.filter_jit(RangeSpace().factor_blocks)(case.pattern, case.matrix).smallest) < (
        np.finfo(float).eps ** 0.25
    )
    # The dense solution has no more digits either: its multipliers are as large as 1e10.
    check_derivatives(case.pattern, case.matrix, 1e-8)


def check_derivatives(pattern, matrix, tolerance=1e-10):
    point = matrix, *right_hand_sides(pattern, 1)
    inside = np.arange(pattern.width) < pattern.sizes[:, None]
    where = [inside[:, :, None] & inside[:, None, :], pattern.entries, inside[..., None], True]
    rng = np.random.default_rng(8)
    leaves, structure = jax.tree.flatten(point)
    moved = [rng.normal(size=x.shape) * mask for x, mask in zip(leaves, where, strict=True)]
    along = jax.tree.unflatten(structure, map(jnp.asarray, moved))

    def structured(point):
        return value(pattern, saddle(AcyclicNullSpace(), pattern, *point)[0])

    def densely(point):
        matrix, f, g = point
        rhs = jnp.concatenate([f.reshape(-1, 1)[pattern.unknowns], g])
        x = jnp.linalg.solve(dense(pattern, matrix), rhs)
        blocks = jnp.zeros((f.shape[0] * f.shape[1], 1)).at[pattern.unknowns].set(x[: -len(g)])
        return value(pattern, (blocks.reshape(f.shape), x[-len(g) :]))

    @eqx.filter_jit
    def derivatives(function, point, along):
        """The value, its derivative along a direction, the gradient, and its derivative."""
        found = jax.jvp(jax.value_and_grad(function), (point,), (along,))
        (value, gradient), (forward, second) = found
        return value, forward, gradient, second

    found, expected = (derivatives(x, point, along) for x in (structured, densely))
    for one, other in zip(found[:2], expected[:2], strict=True):
        assert np.abs(one - other) <= tolerance * np.abs(other)
    for one, other in zip(found[2:], expected[2:], strict=True):
        for x, y, mask in zip(*map(jax.tree.leaves, (one, other)), where, strict=True):
            assert relative(np.asarray(x) * mask, np.asarray(y) * mask) <= tolerance


def test_singular_matrices_are_reported():
    case = topologies.chain(5)
    pattern, matrix, (f, g) = case.pattern, case.matrix, case.right_hand_side()
    # The first row of the third joint twice.
    doubled = Pattern(pattern.sizes, np.concatenate([pattern.rows, pattern.rows[4:5]]))
    twice = BlockMatrix(matrix.K, jnp.concatenate([matrix.B, matrix.B[4:5]]))
    for order in ("rounds", "sweep"):
        assert solve(RangeSpace(order), pattern, matrix, f, g)[1]
        assert not solve(RangeSpace(order), doubled, twice, f, jnp.concatenate([g, g[:1]]))[1]
        massless = eqx.tree_at(lambda m: m.K, matrix, matrix.K.at[2].set(0))
        assert not solve(RangeSpace(order), pattern, massless, f, g)[1]
        nan = eqx.tree_at(lambda m: m.B, matrix, matrix.B.at[3, 0, 1].set(jnp.nan))
        assert not solve(RangeSpace(order), pattern, nan, f, g)[1]
