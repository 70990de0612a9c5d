"""Backward errors in all positions, loops, single precision, and where simple pivots fail."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from jaxspark._blocks._base import AbstractBlockSolver

from .._figures import at_most, Figure, near, note
from ._case import Case
from ._measure import backward_error, factor_and_solve, solution
from ._scaling import TOPOLOGIES
from ._solvers import DenseBlocks, explicit, range_space, recursive
from ._splu import solve_by_splu
from ._topologies import binary_tree, chain, four_bars, hanging_points, pinned_chain, ring


EPS = (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 0.0)
RATIOS = (1e-4, 1e-8, 1e-12)
ROUNDING = 1e-16


def accuracy(tiny: bool) -> Iterator[Figure]:
    """Normwise backward errors of the recursive null space."""
    sizes = [8] if tiny else [64, 1024, 4096]
    for name in ["chain"] if tiny else list(TOPOLOGIES):
        topology = TOPOLOGIES[name]
        solver = recursive(loops=topology.loops)
        error = max(backward_error(solver, topology.make(n)) for n in sizes)
        yield at_most(f"{name}, N to {sizes[-1]}: backward error", error, 1e-14)
    links, rods = (8, 8) if tiny else (64, 2048)
    for name, cases in _positions(links, tiny).items():
        error = max(backward_error(recursive(), case) for case in cases)
        yield at_most(f"{name}, N = {links}: backward error", error, 1e-14)
    for geometry in ("straight", "folded"):
        case = chain(rods, geometry=geometry)
        what = f"{geometry} chain, N = {rods}: backward error"
        yield at_most(what, backward_error(recursive(), case), 1e-13)
    other = range_space()
    if other is not None and not tiny:
        errors = [backward_error(other, chain(links, ratio=ratio)) for ratio in RATIOS]
        words = ", ".join(f"{error:.0e}" for error in errors)
        yield note(f"masses {_listed(RATIOS)} in turn: backward error of the range space", words)


def _positions(links: int, tiny: bool) -> dict[str, list[Case]]:
    def bent(tip_first):
        options = {"geometry": "bent", "order": "xty", "tip_first": tip_first}
        return [chain(links, eps=eps, **options) for eps in EPS]

    near_bent = f"at 90 degrees less {_listed(EPS)}"
    masses = {
        f"chain, masses {_listed(RATIOS)} in turn": [chain(links, ratio=r) for r in RATIOS],
    }
    if tiny:
        return masses
    return masses | {
        f"chain {near_bent}": bent(False),
        f"chain {near_bent}, from the tip": bent(True),
        f"points hanging at {_listed(EPS)}": [hanging_points(links, eps) for eps in EPS],
        f"points hanging at {_listed(EPS)}, from the tip": [
            hanging_points(links, eps, tip_first=True) for eps in EPS
        ],
    }


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def agreement(tiny: bool) -> Iterator[Figure]:
    """Both forms of the null space next to a dense factorisation, up to 64 bodies."""
    sizes = [4] if tiny else [4, 16, 64]
    trees = {"chain": chain} if tiny else {"chain": chain, "binary tree": binary_tree}
    solvers = {"recursive": recursive(), "explicit": explicit(pivots="matching")}
    for name, make in trees.items():
        for words, solver in solvers.items():
            apart = max(_apart(solver, DenseBlocks(), make(n, tip_first=True)) for n in sizes)
            what = f"{name}, N to {sizes[-1]}: {words} from dense, relative"
            yield at_most(what, apart, 1e-10)


def _apart(solver: AbstractBlockSolver, other: AbstractBlockSolver, case: Case) -> float:
    rhs = case.right_hand_side()
    a, b = (case.compact(*solution(each, case, rhs)) for each in (solver, other))
    return _relative(a, b)


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def first_active(tiny: bool) -> Iterator[Figure]:
    """The first active column of each row as its pivot: where that works."""
    solver, links = explicit(pivots="first_active"), 4 if tiny else 64
    for words, options, expected in (
        ("from the tip", {"tip_first": True}, False),
        ("from the root", {}, True),
        ("from the tip, unknowns (theta, x, y)", {"tip_first": True, "order": "txy"}, True),
    ):
        raised = _raises(solver, chain(links, **options))
        what = f"chain {words}, first active column: is refused"
        yield Figure(what, str(expected), str(raised), raised == expected)
    error = backward_error(solver, chain(links, tip_first=True))
    yield note(
        f"chain from the tip, N = {links}, first active column: backward error", f"{error:.1e}"
    )
    for eps in (1e-4,) if tiny else (1e-2, 1e-4, 1e-6):
        case = chain(links, geometry="bent", eps=eps, order="xty", tip_first=True)
        error = max(backward_error(solver, case), ROUNDING)
        what = f"chain at 90 degrees less {eps:g}, pivots of this size: log10 of the backward error"
        yield near(what, np.log10(error), np.log10(ROUNDING / eps**2), 2)


def _raises(solver: AbstractBlockSolver, case: Case) -> bool:
    rhs = case.right_hand_side()
    try:
        jax.eval_shape(factor_and_solve(solver, case.pattern), case.matrix, *rhs)
    except ValueError:
        return True
    return False


def loops(tiny: bool) -> Iterator[Figure]:
    """Clusters that are found, and long rings by a border."""
    few, many, long = (2, 4, 6) if tiny else (64, 4096, 4094)
    cases = [
        (four_bars(many), "cluster"),
        (ring(long), "border"),
        (pinned_chain(few), "cluster"),
        (ring(5), "cluster"),
    ]
    for case, how in cases[: 2 if tiny else 4]:
        solver, rhs = recursive(loops=how), case.right_hand_side()
        found = solution(solver, case, rhs)
        what = f"{case.name}, {case.pattern.num_blocks} bodies, by {how}"
        yield at_most(f"{what}: backward error", case.backward_error(found, rhs), 1e-12)
        exact = solve_by_splu(case, case.compact(*rhs))
        apart = _relative(case.compact(*found), exact)
        yield note(f"{what}: from SuperLU, relative", f"{apart:.1e}")
        words = " ".join(solver.explain_blocks(case.pattern).split())
        yield note(f"{what}: what is done", words.replace("|", "/"))


def single_precision(tiny: bool) -> Iterator[Figure]:
    """The same matrix, rounded, in both precisions."""
    case = chain(8 if tiny else 4096)
    rhs = case.right_hand_side()
    single = jax.tree.map(lambda x: x.astype(jnp.float32), (case.matrix, *rhs))
    double = jax.tree.map(lambda x: x.astype(jnp.float64), single)
    run = jax.jit(factor_and_solve(recursive(), case.pattern))
    a, b = (case.compact(*run(*arguments)) for arguments in (single, double))
    what = f"chain, N = {case.pattern.num_blocks}: relative error in single precision"
    yield at_most(what, _relative(a, b), 1e-5)
