"""The cost next to a dense factorisation, and next to klujax called directly."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from jaxspark._blocks._klu import coordinates, import_klujax

from .._figures import at_least, at_most, Figure, note
from ._case import Case
from ._measure import call_seconds, factor_and_solve, seconds, solve_seconds
from ._solvers import DenseBlocks, recursive
from ._splu import least_seconds, Seconds, SOLVES
from ._topologies import binary_tree, chain


def against_dense(tiny: bool) -> Iterator[Figure]:
    """One system of 64 bodies, and a batch of small ones, next to LAPACK's LU."""
    bodies, lanes, links = (4, 2, 2) if tiny else (64, 256, 16)
    solvers = recursive(), DenseBlocks()
    ours, theirs = (solve_seconds(solver, chain(bodies)) for solver in solvers)
    what = f"chain, N = {bodies}: CPU time of the dense path over ours"
    yield at_least(what, theirs / ours, 5, ".1f")
    cases = [chain(links, seed=seed) for seed in range(lanes)]
    matrices = jax.tree.map(lambda *x: jnp.stack(x), *(case.matrix for case in cases))
    f, g = (jnp.stack([x] * lanes) for x in cases[0].right_hand_side())
    costs = []
    for solver in solvers:
        run = jax.jit(jax.vmap(factor_and_solve(solver, cases[0].pattern)))
        costs.append(call_seconds(run, matrices, f, g))
    what = f"batch of {lanes} chains, N = {links}: CPU time of the dense path over ours"
    yield at_least(what, costs[1] / costs[0], 4, ".1f")


def against_klujax(tiny: bool) -> Iterator[Figure]:
    """klujax called directly, as fast as it can be: with constant indices; factors kept."""
    size = 8 if tiny else 4096
    try:
        import_klujax()
    except ImportError:
        yield note("ours over klujax", "skipped: klujax is not installed")
        return
    families = ("chain", chain, (2, 2)), ("binary tree", binary_tree, (None, 6))
    for name, make, bounds in families[: 1 if tiny else 2]:
        case = make(size)
        pairs = zip((1, SOLVES), seconds(recursive(), case), klujax_seconds(case), bounds)
        for solves, ours, theirs, bound in pairs:
            what = f"{name}, N = {size}, solves: {solves}: CPU time over klujax's"
            ratio, ms = ours / theirs, 1e3 * theirs
            yield note(f"{name}, N = {size}, solves: {solves}: CPU ms of klujax", f"{ms:.2f}")
            yield at_most(what, ratio, bound, ".2f") if bound else note(what, f"{ratio:.2f}")


def klujax_seconds(case: Case) -> Seconds:
    """One solve inside `jit`; ten outside, as factors can only be kept there."""
    klu, entries = import_klujax(), coordinates(case.pattern)
    rows, columns = (jnp.asarray(x) for x in (entries.rows, entries.columns))
    values, rhs = entries.values(case.matrix), jnp.asarray(case.compact(*case.right_hand_side()))
    symbol = klu.analyze(rows, columns, entries.size)
    candidates = (
        jax.jit(lambda values, b: klu.solve(rows, columns, values, b)),
        jax.jit(lambda values, b: klu.solve_with_symbol(rows, columns, values, b, symbol)),
    )
    fs = min(call_seconds(run, values, rhs) for run in candidates)

    def several():
        factors, x = klu.factor(rows, columns, values, symbol), rhs[None]
        for _ in range(SOLVES):
            x = klu.solve_with_numeric(factors, x, symbol)
        return jax.block_until_ready(x)

    assert np.all(np.isfinite(several()))
    return Seconds(fs, least_seconds(several))
