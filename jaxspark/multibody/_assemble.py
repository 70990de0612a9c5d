"""Closed loops: coordinates that close them, and rows of their equations that say something."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from ._closure import Coupling, Loops
from ._kinematics import places, velocity
from ._tables import tables_of
from ._tree import Tree


# Iterations, how far configurations differ in which rows are examined (rad, m), and how many are.
MOST, SPREAD, SEVERAL, TRIALS = 100, 0.3, 4, 12


class Closure:
    """Residuals of loops and their Jacobian, compiled.

    **Arguments:**

    - `tree`, `couplings`: of a mechanism; `args`: its parameters.
    """

    def __init__(self, tree: Tree, couplings: Sequence[Coupling], args: Any):
        self.tree, self.loops = tree, Loops(tree, couplings)
        self._plain = _functions(tree, self.loops, args)
        # Rows that exclude opposite axes lead to the right configuration; they have no slope there.
        self._aligned = _functions(tree, Loops(tree, couplings, aligned=True), args)
        self._rate = jax.jit(lambda y, z: velocity(tree, y, z))
        eps = float(np.finfo(np.asarray(self._plain(np.zeros(tree.ny))[1]).dtype).eps)
        # Of double precision 9e-12, 4e-16 and 1e-8.
        self.tolerance, self.rounding, self.rank = 0.25 * eps ** (2 / 3), 2 * eps, 0.67 * eps**0.5

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`g`, all rows of it, over the sizes of what they compare, and `C`."""
        return self._plain(y)

    def moved(self, y: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """Coordinates after a small motion, with unit quaternions."""
        y = y + np.asarray(self._rate(y, dz))
        for at in self.tree.turned_y:
            y[at : at + 4] /= np.linalg.norm(y[at : at + 4])
        return y

    def closed(self, y: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, float]:
        """Coordinates that close the loops, by Gauss and Newton's iteration, and what is left.

        **Arguments:**

        - `y`: a guess; `held`: which velocities are zero on the way.
        """
        y, _ = self._search(self._aligned, y, held)
        y, _ = self._search(self._plain, y, held)
        return y, float(np.max(np.abs(self._aligned(y)[0]), initial=0))

    def _search(
        self, function: Callable[[np.ndarray], Any], y: np.ndarray, held: np.ndarray
    ) -> tuple[np.ndarray, float]:
        best, least = y, np.inf
        for _ in range(MOST):
            g, C = function(y)
            size = float(np.max(np.abs(g), initial=0))
            if size < least:
                best, least = y, size
            if size <= self.rounding:
                break
            dz = np.zeros(self.tree.nz)
            dz[~held] = -np.linalg.lstsq(C[:, ~held], g, rcond=self.rank)[0]
            # Far from a solution the step is too long to be trusted.
            y = self.moved(y, dz * min(1.0, 1.0 / max(np.max(np.abs(dz), initial=0), 1e-300)))
        return best, least


def _functions(tree: Tree, loops: Loops, args: Any) -> Callable[[np.ndarray], Any]:
    tables = jax.jit(lambda args: tables_of(tree, loops, args))(args)

    @jax.jit
    def both(y, tables):
        at = places(tree, tables, y)
        g, C = loops.positions(tables, at.T, y), loops.jacobian(tables, at, y)
        lengths = (at.T[:, :3, 3], tables.phi[:, :3], tables.offset)
        size = jnp.max(jnp.stack([jnp.max(jnp.abs(x), initial=0) for x in lengths]))
        angles = 1 + jnp.max(jnp.abs(y), initial=0)
        sizes = jnp.where(tables.phi[:, 3] > 0, jnp.where(size > 0, size, 1), 1)
        sizes = jnp.concatenate([sizes, jnp.broadcast_to(angles, (len(loops.couplings),))])
        return g / sizes, C / sizes[:, None]

    def evaluated(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, C = both(y, tables)
        return np.asarray(g), np.asarray(C)

    return evaluated


def independent_rows(closure: Closure, y: np.ndarray) -> np.ndarray | None:
    """Combinations of rows that say something; `None` where all rows do.

    Of a planar loop in space some rows, in constant combinations, hold whatever the coordinates
    are. They are what all Jacobians at several closed configurations have no part in.

    **Arguments:**

    - `closure`: of the mechanism; `y`: a guess.

    **Raises:** `ValueError` if the loops do not close from near the guess.
    """
    nz, rank_at = closure.tree.nz, closure.rank
    free, rng, jacobians = np.zeros(nz, bool), np.random.default_rng(0), []
    for trial in range(TRIALS):
        start = y if trial == 0 else closure.moved(y, SPREAD * rng.normal(size=nz))
        closed, left = closure.closed(start, free)
        if left <= closure.tolerance:
            jacobians.append(closure(closed)[1])
        if len(jacobians) == SEVERAL:
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
    rank = int(np.sum(size > rank_at * size[0]))
    ranks = [np.linalg.matrix_rank(C, rank_at * np.linalg.norm(C, 2)) for C in jacobians]
    if rank > max(ranks):
        return _chosen(jacobians, rank_at)
    if rank == together.shape[0]:
        return None
    silent = np.linalg.norm(together, axis=1) <= rank_at * size[0]
    if np.sum(~silent) == rank:
        return np.eye(len(silent))[~silent]
    return U[:, :rank].T


def _chosen(jacobians: Sequence[np.ndarray], rank_at: float) -> np.ndarray:
    """As many rows as have full rank at the best of the configurations, by pivoted QR.

    Source: G. H. Golub & C. F. Van Loan, *Matrix Computations*, section 5.4.2.
    """
    C = max(jacobians, key=lambda C: np.linalg.matrix_rank(C, rank_at * np.linalg.norm(C, 2)))
    found: Any = scipy.linalg.qr(C.T, mode="economic", pivoting=True)
    _, R, order = found
    size = np.abs(np.diag(R))
    return np.eye(C.shape[0])[np.sort(order[: int(np.sum(size > rank_at * size[0]))])]
