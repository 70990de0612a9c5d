"""The null-space method for constraints that depend on each other without cycles, or with few."""

import functools
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ._base import AbstractBlockSolver
from ._basis import orthogonal_basis, pivoted_basis, redundant_basis, weakest
from ._border import Border, factor_border, solve_border
from ._explicit import ExplicitNullSpace
from ._pattern import BlockMatrix, Pattern
from ._pivots import choose_pivots
from ._plan import make_plan, Plan
from ._recursive import factor_recursively, Factors, solve_recursively
from ._tree import named, spanning_forest


# Measured by `python -m benchmarks figures large`.
FEW_LOOP_ROWS, MOST_LOOP_ROWS = 8, 32
REFINEMENTS = 2

Loops = Literal["auto", "cluster", "border", "error"]


class _Recursion(eqx.Module):
    tree: Factors
    border: Border | None


def _as_pivots(pivots: Any) -> str | tuple[int, ...]:
    if isinstance(pivots, str):
        return pivots
    try:
        return tuple(int(i) for i in pivots)
    except TypeError as error:
        words = '"matching", "first_active" or the column of each row'
        raise ValueError(f"pivots must be {words}; got {pivots!r}.") from error


class AcyclicNullSpace(AbstractBlockSolver):
    r"""Eliminates constraints in topological order; linear in the number of bodies for trees.

    - `mode="recursive"`: joint by joint, from the leaves to the root, without ever forming the
        basis `Z` of the null space, which for a chain has about `N^2` entries.
    - `mode="explicit"`: as published, with `Z` and the reduced system; for few bodies.
    - `mode="auto"`: explicit only where loops are too long for the recursion, and at most 100
        coordinates have at most 16 degrees of freedom.

    Loops are found. Either the bodies of one are merged into a cluster, or the rows that close
    them are a border of the matrix without them.

    **Arguments:**

    - `mode`: as above.
    - `basis`: the basis of the recursion. `"qr"` needs no more than that the constraints of each
        joint are independent; `"pivot"` eliminates unknowns that the structure selects, as
        published: faster, and inaccurate in positions in which these are a bad choice.
    - `pivots`: those of the explicit mode: `"matching"`, `"first_active"` or the column of each
        row.
    - `loops`: `"cluster"`, `"border"`, `"auto"` (a border for up to 8 rows that close loops, then
        clusters if they are small, then a border for up to 32 rows) or `"error"`.
    - `max_cluster`: the most unknowns that a cluster may have.
    - `redundant`: whether constraints may depend on each other, as in overconstrained loops.
        Their rank is then found by singular values, and multipliers are those of minimum norm.

    **Raises:** `ValueError` for options that do not exist or do not fit together and, where it
    meets a system, for structures that it cannot solve, naming the constraints.

    ??? cite "Reference"
        P. Areias, *A dimensional reduction algorithm and software for acyclically dependent
        constraints*.
    """

    mode: Literal["recursive", "explicit", "auto"] = eqx.field(static=True, default="recursive")
    basis: Literal["qr", "pivot"] = eqx.field(static=True, default="qr")
    pivots: str | tuple[int, ...] = eqx.field(
        static=True,
        default="matching",
        converter=_as_pivots,
    )
    loops: Loops = eqx.field(static=True, default="auto")
    max_cluster: int = eqx.field(static=True, default=16)
    redundant: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        options: dict[str, Sequence[Any]] = {
            "mode": ("recursive", "explicit", "auto"),
            "basis": ("qr", "pivot"),
            "loops": ("auto", "cluster", "border", "error"),
        }
        for name, legal in options.items():
            if getattr(self, name) not in legal:
                raise ValueError(f"{name} must be one of {legal}; got {getattr(self, name)!r}.")
        if self.max_cluster < 1:
            raise ValueError(f"max_cluster must be at least 1; got {self.max_cluster}.")
        if self.redundant and (self.basis == "pivot" or self.mode == "explicit"):
            raise ValueError("Redundant constraints have no pivots: mode='recursive', basis='qr'.")

    def symbolic(self, pattern: Pattern) -> Any:
        chosen = _choose(self, pattern)
        return chosen.symbolic(pattern) if isinstance(chosen, ExplicitNullSpace) else chosen

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> Any:
        plan = _choose(self, pattern)
        if isinstance(plan, ExplicitNullSpace):
            return plan.factor_blocks(pattern, matrix)
        tree = factor_recursively(plan, matrix, self._basis_of(plan))
        if len(plan.rows_left) == 0:
            return _Recursion(tree, None)

        def solve(f, g):
            return solve_recursively(plan, tree, f, g)

        return _Recursion(tree, factor_border(pattern, plan.rows_left, matrix, solve))

    def solve_blocks(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        plan = _choose(self, pattern)
        if isinstance(plan, ExplicitNullSpace):
            return plan.solve_blocks(pattern, factors, f, g)

        def solve(f, g):
            return solve_recursively(plan, factors.tree, f, g)

        if factors.border is None:
            return solve(f, g)
        return solve_border(pattern, plan.rows_left, factors.border, solve, f, g)

    def refinements(self, pattern: Pattern) -> int:
        plan = _choose(self, pattern)
        # Without its loops a mechanism can be far worse conditioned than with them.
        return REFINEMENTS if isinstance(plan, Plan) and len(plan.rows_left) else 0

    def solve_blocks_transposed(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        chosen = _choose(self, pattern)
        if isinstance(chosen, ExplicitNullSpace):
            return chosen.solve_blocks_transposed(pattern, factors, f, g)
        if factors.tree.P is None:
            return self.solve_blocks(pattern, factors, f, g)
        return super().solve_blocks_transposed(pattern, factors, f, g)

    def regular_blocks(self, pattern: Pattern, factors: Any) -> Bool[Array, ""]:
        chosen = _choose(self, pattern)
        if isinstance(chosen, ExplicitNullSpace):
            return chosen.regular_blocks(pattern, factors)
        tree = factors.tree
        good = jnp.all(tree.definite) & jnp.all(tree.pivot > weakest(tree.Kh.dtype))
        return good if factors.border is None else good & factors.border.regular

    def explain_blocks(self, pattern: Pattern) -> str:
        chosen = _choose(self, pattern)
        if isinstance(chosen, ExplicitNullSpace):
            return chosen.explain_blocks(pattern)
        return _words(pattern, chosen)

    def _basis_of(self, plan: Plan) -> Any:
        if self.redundant:
            return redundant_basis
        if self.basis == "qr":
            return orthogonal_basis
        return functools.partial(pivoted_basis, columns=_columns(plan))


@functools.lru_cache(maxsize=256)
def _choose(solver: AcyclicNullSpace, pattern: Pattern) -> Plan | ExplicitNullSpace:
    """How a solver treats a pattern; raises `ValueError` if it cannot."""
    explicit = ExplicitNullSpace(solver.pivots, "error" if solver.loops == "error" else "cluster")
    if solver.mode == "explicit":
        return explicit
    _require_rows(pattern)
    loop_rows = spanning_forest(pattern).loop_rows
    if solver.loops == "error" and len(loop_rows):
        raise ValueError(
            f"{named([pattern.labels[i] for i in loop_rows])} close loops. Use loops='cluster' "
            "or loops='border'."
        )
    cut = make_plan(pattern, "border", False)
    few = len(cut.rows_left) <= FEW_LOOP_ROWS
    if solver.loops == "border" or (solver.loops == "auto" and few and not solver.redundant):
        return cut
    plan = make_plan(pattern, "cluster", solver.redundant)
    largest = int(plan.unknowns.max(initial=0))
    if largest <= max(solver.max_cluster, pattern.width):
        return plan
    if solver.loops == "auto" and len(cut.rows_left) <= MOST_LOOP_ROWS and not solver.redundant:
        return cut
    if solver.mode == "auto" and pattern.size <= 100 and pattern.size - pattern.num_rows <= 16:
        return explicit
    where = int(np.argmax(plan.unknowns))
    rows = [pattern.labels[i] for i in np.flatnonzero(plan.of_row == where)]
    raise ValueError(
        f"Loops make a cluster of {largest} unknowns, more than max_cluster = "
        f"{solver.max_cluster}: {named(rows)}. Use loops='border' (for few loops), a larger "
        "max_cluster, or jaxspark.linear.RangeSpace()."
    )


def _require_rows(pattern: Pattern) -> None:
    """Every row must have entries."""
    empty = ~np.any(pattern.entries, (1, 2))
    if np.any(empty):
        names = named([pattern.labels[i] for i in np.flatnonzero(empty)])
        raise ValueError(f"{names} constrain nothing: their Jacobian is zero.")


def _columns(plan: Plan) -> np.ndarray:
    """For each cluster its unknowns, those first that the structure of its rows selects."""
    pattern = plan.pattern
    columns = np.tile(np.arange(plan.Q), (plan.num_clusters, 1))
    exists = np.append(pattern.entries.ravel(), [False, True])
    structure = exists[plan.B_index]
    for cluster in range(plan.num_clusters):
        alone = Pattern([plan.Q], [[0, -1]] * plan.R, np.stack([structure[cluster]] * 2, 1))
        pivots = list(choose_pivots(alone, "matching"))
        rest = [i for i in range(plan.Q) if i not in pivots]
        columns[cluster] = [*pivots, *rest]
    return columns


def _words(pattern: Pattern, plan: Plan) -> str:
    depth = np.zeros(plan.num_clusters, int)
    for i in reversed(range(plan.num_clusters)):
        if plan.parent[i] >= 0:
            depth[i] = depth[plan.parent[i]] + 1
    merged = np.bincount(plan.of_block, minlength=plan.num_clusters)
    largest = int(np.argmax(plan.unknowns)) if plan.num_clusters else 0
    clusters = f"{int(np.sum(merged > 1))} of several blocks"
    if plan.num_clusters:
        clusters += f", the largest has {plan.unknowns[largest]} unknowns and {plan.rows[largest]}"
        clusters += " rows"
    border = f"{len(plan.rows_left)} rows of loops are a border" if len(plan.rows_left) else ""
    loops = border or ("loops are clusters" if np.any(merged > 1) else "no loops")
    return (
        f"Recursive null space: {pattern.num_blocks} blocks, {pattern.size} unknowns, "
        f"{pattern.num_rows} rows; {loops}. {plan.num_clusters} clusters ({clusters}) in "
        f"{int(depth.max(initial=-1)) + 1} levels, {plan.num_slots} open at a time."
    )
