"""The recursive null-space method: against dense matrices, in bent chains, its structure."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

from benchmarks._array_sizes import array_sizes
from benchmarks.large import _topologies as topologies
from jaxspark._blocks import dense, factor_saddle, solve_saddle
from jaxspark.linear import AcyclicNullSpace, BlockMatrix, Pattern
from rods import (
    flat,
    ragged,
    random_tree,
    relative,
    right_hand_sides,
    solve,
    solve_both,
    with_values,
)


def spatial(count, seed=0, floating=False):
    """A random tree of blocks of 6 and 7 unknowns with joints of 3, 5 and 6 rows."""
    rng = np.random.default_rng(seed)
    kinds = [(6, 5), (6, 3), (7, 6)]
    kinds = [kinds[i] for i in rng.integers(3, size=count)]
    parents = random_tree(count, seed)
    rows = [
        (i, parents[i])
        for i, (_, r) in enumerate(kinds)
        for _ in range(r)
        if not (floating and parents[i] < 0)
    ]
    pattern = Pattern([q for q, _ in kinds], rows)
    return pattern, rng.normal(size=pattern.entries.shape) * pattern.entries


def floating():
    """Two trees that nothing holds, one that the ground holds, and a block without rows."""
    pattern, B = spatial(9, floating=True)
    sizes = np.concatenate([pattern.sizes, [6, 6, 3, 7]])
    rows = np.concatenate([pattern.rows, [(9, 10)] * 5, [(11, -1)] * 2])
    both = Pattern(sizes, rows)
    extra = np.random.default_rng(1).normal(size=(7, 2, 7))
    return both, np.concatenate([B, extra]) * both.entries


def rods_of(case):
    return case.pattern, np.asarray(case.matrix.B)


TREES = {
    "chain": rods_of(topologies.chain(24)),
    "chain, tip first": rods_of(topologies.chain(24, tip_first=True, order="tyx")),
    "binary tree": rods_of(topologies.binary_tree(31)),
    "random tree": rods_of(topologies.random_tree(32)),
    "star": rods_of(topologies.star(20)),
    "unequal sizes": ragged(24),
    "mixture of 6 and 7": spatial(16),
    "floating": floating(),
    "(6, 5)": rods_of(topologies.random_blocks(7, 6, 5, "binary tree")),
    "(6, 3)": rods_of(topologies.random_blocks(12, 6, 3)),
    "(7, 6)": rods_of(topologies.random_blocks(12, 7, 6)),
}
LOOPS = {
    "ring": rods_of(topologies.ring(8)),
    "pinned chain": rods_of(topologies.pinned_chain(8)),
    "four-bar linkages": rods_of(topologies.four_bars(5)),
}
CHOICES = {
    "qr": AcyclicNullSpace(),
    "pivot": AcyclicNullSpace(basis="pivot", max_cluster=24),
    "cluster": AcyclicNullSpace(loops="cluster", max_cluster=24),
    "border": AcyclicNullSpace(loops="border"),
}
PAIRS = [(name, "qr", True) for name in TREES]
GENERAL = ("chain", "binary tree", "unequal sizes", "mixture of 6 and 7", "floating", "(6, 5)")
PAIRS += [(name, "qr", False) for name in GENERAL]
PAIRS += [(name, how, how == "cluster") for name in LOOPS for how in ("cluster", "border")]
PAIRS += [("four-bar linkages", "cluster", False), ("four-bar linkages", "pivot", True)]
PAIRS += [(name, "pivot", name == "star") for name in ("star", "random tree", "unequal sizes")]


@pytest.mark.parametrize("name, how, symmetric", PAIRS)
def test_solutions_are_those_of_the_dense_matrix(name, how, symmetric):
    pattern, B = {**TREES, **LOOPS}[name]
    matrix, solver = with_values(pattern, B, symmetric), CHOICES[how]
    full, (f, g) = np.asarray(dense(pattern, matrix)), right_hand_sides(pattern)
    straight, transposed, regular = solve_both(solver, pattern, matrix, f, g)
    assert bool(regular)
    rhs = flat(pattern, f, g)
    assert relative(flat(pattern, *straight), np.linalg.solve(full, rhs)) <= 1e-10
    assert relative(flat(pattern, *transposed), np.linalg.solve(full.T, rhs)) <= 1e-10
    padding = np.arange(pattern.width) >= pattern.sizes[:, None]
    for x, _ in (straight, transposed):
        assert not np.any(np.asarray(x)[padding])


def solved(case, solver):
    rhs = case.right_hand_side()
    (x, lam), regular = solve(solver, case.pattern, case.matrix, *rhs)
    return case.backward_error((x, lam), rhs), bool(regular)


BENT = [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 0.0]


@pytest.mark.parametrize("eps", BENT)
def test_bent_chains(eps):
    """Where a chain is straight along an axis the first unknowns of a joint determine nothing."""
    for order, tip_first in (("xty", True), ("txy", False)):
        case = topologies.chain(64, geometry="bent", eps=eps, order=order, tip_first=tip_first)
        error, regular = solved(case, AcyclicNullSpace())
        assert error <= 1e-14 and regular
    for tip_first in (True, False):
        error, regular = solved(topologies.hanging_points(64, eps, tip_first), AcyclicNullSpace())
        assert error <= 1e-14 and regular


@pytest.mark.parametrize("eps", [1e-2, 1e-4])
def test_eliminated_unknowns_lose_digits_in_bent_chains(eps):
    """The first unknown of a link, `x`, has the coefficient `sin(eps)`."""
    error, _ = solved(topologies.hanging_points(64, eps), AcyclicNullSpace(basis="pivot"))
    assert 2.0**-53 / eps / 10 <= error <= 1e3 * 2.0**-53 / eps**2


@pytest.mark.parametrize("geometry", ["random", "straight", "folded"])
def test_mass_ratios(geometry):
    for make in (topologies.chain, topologies.binary_tree, topologies.pinned_chain):
        if make is topologies.pinned_chain and geometry != "random":
            continue
        error, regular = solved(make(64, ratio=1e-12, geometry=geometry), AcyclicNullSpace())
        assert error <= 1e-14 and regular


def test_batches_are_loops():
    def both(matrix, f, g):
        return solve_both(AcyclicNullSpace(), pattern, matrix, f, g)

    for name, symmetric in (("chain", True), ("ring", False)):
        pattern, B = {**TREES, **LOOPS}[name]
        several = [with_values(pattern, B, symmetric, seed=i) for i in range(3)]
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *several)
        f, g = right_hand_sides(pattern)
        fs, gs = jnp.stack([f, -f, 0.5 * f]), jnp.stack([g, 2 * g, g])
        batch = jax.vmap(both)(stacked, fs, gs)
        loop = [both(*one) for one in zip(several, fs, gs, strict=True)]
        loop = jax.tree.map(lambda *x: jnp.stack(x), *loop)
        for x, y in zip(jax.tree.leaves(batch), jax.tree.leaves(loop), strict=True):
            assert relative(np.asarray(x, float), np.asarray(y, float)) <= 1e-12
        same = jax.vmap(both, (None, 0, 0))(several[0], fs, gs)
        assert relative(same[0][0][2], both(several[0], fs[2], gs[2])[0][0]) <= 1e-12


def test_right_hand_sides_together_and_alone():
    pattern, B = TREES["random tree"]
    matrix, (f, g) = with_values(pattern, B, False), right_hand_sides(pattern, 7)
    together, _ = solve(AcyclicNullSpace(), pattern, matrix, f, g)
    for i in (0, 3, 6):
        alone, _ = solve(AcyclicNullSpace(), pattern, matrix, f[..., i : i + 1], g[:, i : i + 1])
        for x, y in zip(alone, together, strict=True):
            assert relative(x, y[..., i : i + 1]) <= 1e-13


def test_single_precision():
    case = topologies.chain(512)
    single = jax.tree.map(lambda x: x.astype(jnp.float32), case.matrix)
    f, g = (x.astype(jnp.float32) for x in case.right_hand_side())
    (x, lam), regular = solve(AcyclicNullSpace(), case.pattern, single, f, g)
    assert x.dtype == lam.dtype == jnp.float32 and bool(regular)
    rounded = topologies.Case("", case.pattern, jax.tree.map(lambda x: x.astype(float), single))
    exact = scipy.sparse.linalg.spsolve(rounded.csc(), case.compact(f, g).astype(float)[:, 0])
    assert relative(case.compact(x, lam)[:, 0], exact) <= 1e-5


def values(pattern, solution):
    x, lam = solution
    used = x.reshape(-1, x.shape[2])[pattern.unknowns]
    return jnp.sum(jnp.sin(used)) + jnp.sum(jnp.cos(lam) * lam)


GRADIENTS = {
    # More than eight joints at one body, or general forces: the recursion, not the range space.
    "star": (*TREES["star"], True, AcyclicNullSpace()),
    "star, border": (*rods_of(topologies.star(12)), False, AcyclicNullSpace(loops="border")),
    "unequal sizes": (*TREES["unequal sizes"], False, AcyclicNullSpace()),
    "pinned chain": (*LOOPS["pinned chain"], False, AcyclicNullSpace(loops="border")),
    "linkages": (*LOOPS["four-bar linkages"], False, AcyclicNullSpace(loops="cluster")),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives_are_those_of_the_dense_solution(name):
    pattern, B, symmetric, solver = GRADIENTS[name]
    point = with_values(pattern, B, symmetric), *right_hand_sides(pattern, 2)
    inside = np.arange(pattern.width) < pattern.sizes[:, None]
    pairs = inside[:, :, None] & inside[:, None, :]
    rng = np.random.default_rng(8)

    def direction(like, where):
        return jnp.asarray(rng.normal(size=like.shape) * where)

    forces = None if symmetric else direction(point[0].forces, pattern.entries)
    along = (
        BlockMatrix(direction(point[0].K, pairs), direction(point[0].B, pattern.entries), forces),
        direction(point[1], inside[..., None]), direction(point[2], 1.0),
    )  # fmt: skip

    def structured(point):
        matrix, f, g = point
        factors = factor_saddle(solver, pattern, matrix)
        return values(pattern, solve_saddle(solver, pattern, matrix, factors, f, g))

    def densely(point):
        matrix, f, g = point
        rhs = jnp.concatenate([f.reshape(-1, 2)[pattern.unknowns], g])
        x = jnp.linalg.solve(dense(pattern, matrix), rhs)
        blocks = jnp.zeros((f.shape[0] * f.shape[1], 2)).at[pattern.unknowns].set(x[: -len(g)])
        return values(pattern, (blocks.reshape(f.shape), x[-len(g) :]))

    @eqx.filter_jit
    def derivatives(function, point, along):
        """The value, its derivative along a direction, the gradient, and its derivative."""
        found = jax.jvp(jax.value_and_grad(function), (point,), (along,))
        (value, gradient), (forward, second) = found
        return value, forward, gradient, second

    kept = [pairs, pattern.entries, pattern.entries][: 2 if symmetric else 3]
    kept += [inside[..., None], True]
    found, expected = (derivatives(x, point, along) for x in (structured, densely))
    assert np.abs(found[0] - expected[0]) <= 1e-10 * np.abs(expected[0])
    assert np.abs(found[1] - expected[1]) <= 1e-10 * np.abs(expected[1])
    for one, other in zip(found[2:], expected[2:], strict=True):
        for x, y, where in zip(*map(jax.tree.leaves, (one, other)), kept, strict=True):
            assert relative(np.asarray(x) * where, np.asarray(y) * where) <= 1e-10


@pytest.mark.parametrize("make", [topologies.chain, topologies.binary_tree])
def test_nothing_of_the_size_of_a_square(make):
    case, solver = make(4096), AcyclicNullSpace()

    def work(matrix, f, g):
        factors = solver.factor_blocks(case.pattern, matrix)
        return solver.solve_blocks(case.pattern, factors, f, g)

    jaxpr = jax.make_jaxpr(work)(case.matrix, *case.right_hand_side())
    assert max(array_sizes(jaxpr)) <= 64 * 4096


def test_structure():
    plan = AcyclicNullSpace(loops="cluster").symbolic(topologies.four_bars(6).pattern)
    assert plan.num_clusters == 7
    assert sorted(zip(plan.unknowns.tolist(), plan.rows.tolist())) == [(3, 2), *[(6, 6)] * 6]
    for make in (topologies.chain, topologies.star):
        assert AcyclicNullSpace().symbolic(make(64).pattern).num_slots == 1
    for count in (7, 63, 100, 1000):
        plan = AcyclicNullSpace().symbolic(topologies.binary_tree(count).pattern)
        assert plan.num_slots <= 1 + np.log2(count)
        parents = plan.parent
        assert np.all((parents > np.arange(count)) | (parents < 0))
    ring = topologies.ring(5).pattern
    cut = AcyclicNullSpace(loops="border").symbolic(ring)
    assert len(cut.rows_left) == 2 and cut.num_clusters == 5
    merged = AcyclicNullSpace(loops="cluster").symbolic(ring)
    assert len(merged.rows_left) == 0 and np.max(merged.unknowns) >= 12
    words = AcyclicNullSpace(loops="border").explain_blocks(ring)
    assert "2 rows of loops are a border" in words
    assert "5 levels" in AcyclicNullSpace().explain_blocks(topologies.chain(5).pattern)
