"""Which solver suits a structure, by rules."""

import functools
import importlib.util
import warnings

import jax
import numpy as np

from ._acyclic import AcyclicNullSpace, FEW_LOOP_ROWS, MOST_LOOP_ROWS
from ._base import AbstractBlockSolver
from ._klu import KLU
from ._pattern import Pattern
from ._plan import make_plan
from ._range_space import RangeSpace
from ._watched import Watched


# Measured by `python -m benchmarks figures large`.
MOST_JOINTS = 8
# With more joints on a body rounds are many, and take long to compile.
FAST_JOINTS = 3
LARGEST_DENSE = 2000
LARGEST_CLUSTER = 16


def automatic(pattern: Pattern) -> tuple[AbstractBlockSolver | None, str]:
    """A solver for a structure, and why it is the one; `None` where it is to be a dense one.

    **Raises:** `ValueError` if the mechanism is too large for a dense matrix and its loops are
    too many, too long and too entangled for everything else.
    """
    double_on_cpu = jax.config.read("jax_enable_x64") and jax.default_backend() == "cpu"
    klu = double_on_cpu and importlib.util.find_spec("klujax") is not None
    parallel = jax.default_backend() != "cpu"
    solver, why = _automatic(pattern, bool(klu), parallel)
    if solver is None:
        warnings.warn(f"This mechanism is solved with a dense matrix: {why}.", stacklevel=2)
    return solver, why


@functools.lru_cache(maxsize=256)
def _automatic(
    pattern: Pattern, klu: bool, parallel: bool
) -> tuple[AbstractBlockSolver | None, str]:
    cut = make_plan(pattern, "border", False)
    rows = len(cut.rows_left)
    if rows == 0:
        why = "the mechanism is a tree: joints are eliminated from its leaves"
        return _watched(pattern, AcyclicNullSpace(), parallel), why
    if rows <= FEW_LOOP_ROWS:
        why = f"only {rows} rows close loops: they are a border"
        return _watched(pattern, AcyclicNullSpace(loops="border"), parallel), why
    try:
        largest = int(make_plan(pattern, "cluster", False).unknowns.max(initial=0))
    except ValueError:
        largest = pattern.size
    if largest <= LARGEST_CLUSTER:
        short = f"loops are short: clusters have at most {largest} unknowns"
        return _watched(pattern, AcyclicNullSpace(loops="cluster"), parallel), short
    if rows <= MOST_LOOP_ROWS:
        few = f"loops are long (clusters of {largest} unknowns), but only {rows} rows close them"
        return _watched(pattern, AcyclicNullSpace(loops="border"), parallel), few
    why = f"{rows} rows close loops, with clusters of up to {largest} unknowns"
    if klu:
        return KLU(), f"{why}; klujax is installed"
    joints = joints_of_blocks(pattern)
    if joints <= MOST_JOINTS:
        return RangeSpace(), f"{why}; no body has more than {joints} joints"
    if pattern.size + pattern.num_rows <= LARGEST_DENSE:
        return None, f"{why}, and a body has {joints} joints; jaxspark[klu] would be faster"
    raise ValueError(
        f"No solver suits this mechanism: {why}, and a body has {joints} joints. Install "
        "jaxspark[klu], or choose one: linear_solver=jaxspark.linear.DenseLU()."
    )


def _watched(pattern: Pattern, solver: AbstractBlockSolver, parallel: bool) -> AbstractBlockSolver:
    """The solver, and the faster one where bodies have few joints each.

    Where launching an operation takes longer than the operation, a recursion is slow always.
    """
    limit = MOST_JOINTS if parallel else FAST_JOINTS
    return Watched(solver) if joints_of_blocks(pattern) <= limit else solver


def joints_of_blocks(pattern: Pattern) -> int:
    """The largest number of neighbours of a block, the ground among them."""
    pairs = np.unique(np.sort(pattern.rows, 1), axis=0)
    counts = np.zeros(pattern.num_blocks + 1, int)
    np.add.at(counts, pairs.ravel(), 1)
    return int(counts[:-1].max(initial=0))
