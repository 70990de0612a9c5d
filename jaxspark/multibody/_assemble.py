"""Closed loops: coordinates that close them, and rows of their equations that say something."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import scipy.linalg

from ._closure import Loops
from ._kinematics import places, velocity
from ._tables import tables_of
from ._tree import Tree


# Residuals of closed loops (m, and of unit vectors), singular values that count as zero relative to
# the largest, iterations, and how far configurations differ in which rows are examined (rad, m).
CLOSED, RANK, MOST, SPREAD = 1e-11, 1e-8, 100, 0.3


class Closure:
    """Residuals of loops and their Jacobian, compiled.

    **Arguments:**

    - `tree`, `loops`: of a mechanism; `args`: its parameters.
    """

    def __init__(self, tree: Tree, loops: Loops, args: Any):
        self.tree, self.loops = tree, loops
        self.tables = jax.jit(lambda args: tables_of(tree, loops, args))(args)

        @jax.jit
        def both(y, tables):
            at = places(tree, tables, y)
            return loops.positions(tables, at.T, y), loops.jacobian(tables, at, y)

        self._both = both
        self._rate = jax.jit(lambda y, z: velocity(tree, y, z))

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`g` and `C`."""
        g, C = self._both(y, self.tables)
        return np.asarray(g), np.asarray(C)

    def moved(self, y: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """Coordinates after a small motion, with unit quaternions."""
        y = y + np.asarray(self._rate(y, dz))
        for at in self.tree.turned_y:
            y[at : at + 4] /= np.linalg.norm(y[at : at + 4])
        return y

    def closed(self, y: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates that close the loops, by Gauss and Newton's iteration, and residuals.

        **Arguments:**

        - `y`: a guess; `held`: which velocities are zero on the way.
        """
        best, residual = y, np.full(self.loops.count, np.inf)
        for _ in range(MOST):
            g, C = self(y)
            if np.max(np.abs(g), initial=0) < np.max(np.abs(residual), initial=0):
                best, residual = y, g
            if np.max(np.abs(g), initial=0) <= 1e-15:
                break
            C = C[:, ~held]
            dz = np.zeros(self.tree.nz)
            dz[~held] = -np.linalg.lstsq(C, g, rcond=RANK)[0]
            # Far from a solution the step is too long to be trusted.
            y = self.moved(y, dz * min(1.0, 1.0 / max(np.max(np.abs(dz)), 1e-300)))
        return best, residual


def independent_rows(
    tree: Tree, loops: Callable[[np.ndarray | None], Loops], args: Any, y: np.ndarray
) -> np.ndarray | None:
    """Combinations of rows that say something; `None` where all rows do.

    Of a planar loop in space some rows, in constant combinations, hold whatever the coordinates
    are. They are what all Jacobians at several closed configurations have no part in.

    **Arguments:**

    - `loops`: makes loops of combinations; `y`: a guess.

    **Raises:** `ValueError` if the loops do not close from the guess, or if rows depend on each
    other in combinations that change.
    """
    closure = Closure(tree, loops(None), args)
    free = np.zeros(tree.nz, bool)
    rng = np.random.default_rng(0)
    jacobians = []
    for trial in range(12):
        start = y if trial == 0 else closure.moved(y, SPREAD * rng.normal(size=tree.nz))
        closed, g = closure.closed(start, free)
        if np.max(np.abs(g)) <= CLOSED:
            jacobians.append(closure(closed)[1])
        if len(jacobians) == 4:
            break
    if not jacobians:
        raise ValueError(
            "The loops do not close from coordinates near the guess; give guess={joint: value} "
            "nearer to a configuration that is possible."
        )
    together = np.concatenate(jacobians, axis=1)
    if not together.size:
        return np.zeros((0, len(together)))
    U, size, _ = np.linalg.svd(together)
    rank = int(np.sum(size > RANK * size[0]))
    ranks = [np.linalg.matrix_rank(C, RANK * np.linalg.norm(C, 2)) for C in jacobians]
    if rank > max(ranks):
        return _chosen(jacobians)
    if rank == together.shape[0]:
        return None
    silent = np.linalg.norm(together, axis=1) <= RANK * size[0]
    if np.sum(~silent) == rank:
        return np.eye(len(silent))[~silent]
    return U[:, :rank].T


def _chosen(jacobians: list[np.ndarray]) -> np.ndarray:
    """As many rows as have full rank at the best of the configurations, by pivoted QR.

    Source: G. H. Golub & C. F. Van Loan, *Matrix Computations*, section 5.4.2.
    """
    C = max(jacobians, key=lambda C: np.linalg.matrix_rank(C, RANK * np.linalg.norm(C, 2)))
    found: Any = scipy.linalg.qr(C.T, mode="economic", pivoting=True)
    _, R, order = found
    size = np.abs(np.diag(R))
    return np.eye(C.shape[0])[np.sort(order[: int(np.sum(size > RANK * size[0]))])]
