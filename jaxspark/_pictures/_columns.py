"""The saved states of a solution as named columns of numbers."""

from typing import Any

import jax
import jax.core
import numpy as np

from .._rollout import Solution


def known(solution: Any) -> Solution:
    """The solution, if its numbers are there.

    **Raises:** `TypeError` if it is no solution; `ValueError` while a program is traced, or if no
    state was saved.
    """
    if not isinstance(solution, Solution):
        raise TypeError(
            f"This is for what jaxspark.solve returns, a Solution; got {type(solution).__name__}."
        )
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((solution.ts, solution.ys))):
        raise ValueError(
            "The numbers of a solution are known outside of jax.jit, jax.vmap and jax.grad: draw "
            "or export what these return."
        )
    if solution.ts.shape[-1] < 2:
        raise ValueError(
            f"{solution.ts.shape[-1]} state is saved: there is no motion to show. Pass ts=, the "
            "times to save, or save_every=1 to solve."
        )
    return solution


def one_motion(solution: Any, lane: int | None) -> Solution:
    """The solution itself, or one lane of a batch.

    **Raises:** as `known`; `ValueError` for a lane that is missing, or not there.
    """
    solution = known(solution)
    if solution.ts.ndim == 1:
        if lane is not None:
            raise ValueError("lane= names one of a batch of solutions; this is a single one.")
        return solution
    if solution.ts.ndim != 2 or lane is None or not 0 <= lane < solution.ts.shape[0]:
        raise ValueError(
            f"This is a batch of shape {solution.ts.shape[:-1]}: name one of its lanes by lane=, "
            "or pass one of them, jax.tree.map(lambda x: x[0], solution)."
        )
    return jax.tree.map(lambda x: x[lane], solution)


def groups(solution: Any) -> dict[str, dict[str, np.ndarray]]:
    """For `y`, `z` and the multipliers that were saved: names of entries, and their values.

    Each has the shape `(n,)`, or `(lanes, n)` of a batch. An array of several entries gives a
    column for each: `y[0]`, or `y['crank'][0]` of a PyTree.
    """
    axes = solution.ts.ndim
    return {name: _of_tree(name, tree, axes) for name, tree in parts(solution).items()}


def parts(solution: Solution) -> dict[str, Any]:
    """The PyTrees of `y`, `z` and the multipliers that were saved, by name."""
    trees: dict[str, Any] = {"y": solution.ys, "z": solution.zs}
    if solution.multipliers is not None:
        trees |= {"lam": solution.multipliers.lam, "psi": solution.multipliers.psi}
    return trees


def _of_tree(name: str, tree: Any, axes: int) -> dict[str, np.ndarray]:
    columns = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        values = np.asarray(leaf)
        label = name + jax.tree_util.keystr(path)
        for at in np.ndindex(values.shape[axes:]):
            index = "[" + ", ".join(map(str, at)) + "]" if at else ""
            columns[label + index] = values[(..., *at)]
    return columns
