"""Closed loops: coordinates that close them, and rows of their equations that say something."""

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array

from ._closure import Coupling, Loops
from ._kinematics import places, rates, velocity
from ._rows import Moving, Rows
from ._tables import Tables, tables_of
from ._tree import Tree


# Iterations, how far configurations differ in which rows are examined (rad, m), and how many are.
MOST, SPREAD, SEVERAL, TRIALS = 100, 0.3, 4, 12


class Closure:
    """Residuals of loops and their Jacobian, compiled.

    **Arguments:**

    - `tree`, `couplings`, `others`: of a mechanism; `rolling`: its nonholonomic rows.
    """

    def __init__(
        self,
        tree: Tree,
        couplings: Sequence[Coupling],
        others: Rows,
        rolling: Rows,
    ):
        self.tree, self.loops, self.rolling = tree, Loops(tree, couplings, others), rolling
        # Rows that exclude opposite axes lead to the right configuration; they have no slope there.
        # All others are among these.
        aligned = Loops(tree, couplings, others, aligned=True)
        plain = [aligned.rows.index(row) for row in self.loops.rows]
        plain += range(len(aligned.rows), len(aligned.names))
        self._plain = np.array(plain, int)
        self._every: Any = _equations(tree, aligned, rolling)
        self._rate = jax.jit(lambda y, z: velocity(tree, y, z))
        functions = [False] * (len(self.loops.names) - len(others.names))
        self.rheonomic = np.array(functions + [x.rheonomic for x in others.of_rows], bool)
        self.of_functions = np.array(functions + [True] * len(others.names), bool)
        eps = float(np.finfo(jnp.zeros(()).dtype).eps)
        # Of double precision 9e-12, 4e-16 and 1e-8.
        self.tolerance, self.rounding, self.rank = 0.25 * eps ** (2 / 3), 2 * eps, 0.67 * eps**0.5

    def at(self, args: Any, t: Any = 0.0) -> "Closure":
        """The same with parameters and a time."""
        bound = copy.copy(self)
        bound._every = functools.partial(self._every, args, t)
        return bound

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`g`, all rows of it, over the sizes of what they compare, and `C`."""
        g, C = self._aligned(y)
        return g[self._plain], C[self._plain]

    def _aligned(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, _, C = self._every(y, np.zeros(self.tree.nz))
        return g, C[: len(g)]

    def rates(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`gdot` and `k` at velocities, over the sizes of what they compare, and their Jacobian."""
        g, b, C = self._every(y, z)
        rows = np.concatenate([self._plain, np.arange(len(g), len(b))])
        return b[rows], C[rows]

    def velocities(
        self, y: np.ndarray, z: np.ndarray, held: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """The smallest velocities beside those that are held, and what is left.

        Nonholonomic constraints need not be linear in velocities: Gauss and Newton's iteration.
        """
        z = np.where(held, z, 0.0)
        for _ in range(MOST):
            b, C = self.rates(y, z)
            size = float(np.max(np.abs(b), initial=0))
            least = self.rounding * (1 + np.max(np.abs(z), initial=0))
            if size <= least or not np.isfinite(size + np.sum(C)):
                break
            change = np.linalg.lstsq(C[:, ~held], b, rcond=self.rank)[0]
            if np.max(np.abs(change), initial=0) <= least:
                break
            z = z.copy()
            z[~held] -= change
        return z, float(np.max(np.abs(self.rates(y, z)[0]), initial=0))

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
        y, _ = self._search(self, y, held)
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
            if size <= self.rounding or not np.isfinite(size + np.sum(C)):
                break
            dz = np.zeros(self.tree.nz)
            dz[~held] = -np.linalg.lstsq(C[:, ~held], g, rcond=self.rank)[0]
            # Far from a solution the step is too long to be trusted.
            y = self.moved(y, dz * min(1.0, 1.0 / max(np.max(np.abs(dz), initial=0), 1e-300)))
        return best, least


def _equations(tree: Tree, loops: Loops, rolling: Rows) -> Callable[..., Any]:
    """Of parameters, a time, coordinates and velocities: `g`, `gdot` and `k`, and the Jacobian.

    One program, since compiling takes longer than all that it is for.
    """

    @jax.jit
    def of_arrays(args, t, y, z):
        tables = tables_of(tree, loops, args)
        at = places(tree, tables, y)
        moving = Moving(y, z, rates(tree, at.S, z).V)
        g, every = loops.positions(t, tables, at.T, y), [*loops.others.of_rows, *rolling.of_rows]
        C = [loops.jacobian(t, tables, at, moving), *rolling.jacobian(t, tables, at, moving)]
        b = [loops.rates(t, tables, at, moving, C[0]), *rolling.rates(t, tables, at, moving)]
        sizes = _sizes(loops, tables, at.T, y, every)
        return g / sizes[: len(g)], jnp.concatenate(b) / sizes, jnp.concatenate(C) / sizes[:, None]

    def every(args, t, y, z):
        y, z = jnp.asarray(y), jnp.asarray(z)
        return tuple(np.asarray(x) for x in of_arrays(args, jnp.asarray(t, y.dtype), y, z))

    return every


def _sizes(loops: Loops, tables: Tables, T: Array, y: Array, others: Sequence[Any]) -> Array:
    """Of what each row compares: the largest length, of directions 1, of angles the largest."""
    lengths = (T[:, :3, 3], tables.phi[:, :3], tables.offset)
    size = jnp.max(jnp.stack([jnp.max(jnp.abs(x), initial=0) for x in lengths]))
    size = jnp.where(size > 0, size, 1)
    angles = 1 + jnp.max(jnp.abs(y), initial=0)
    of_joints = jnp.where(tables.phi[:, 3] > 0, size, 1)
    scalars = [angles] * len(loops.couplings) + [angles if x.joint else size for x in others]
    return jnp.concatenate([of_joints, jnp.asarray(scalars, y.dtype).reshape(-1)])


def independent_rows(closure: Closure, y: np.ndarray) -> np.ndarray | None:
    """Combinations of rows that say something; `None` where all rows do.

    Of a planar loop in space some rows, in constant combinations, hold whatever the coordinates
    are. They are what all Jacobians at several closed configurations have no part in. Rows that may
    depend on time are all kept: what holds at one time need not at another.

    **Arguments:**

    - `closure`: of the mechanism; `y`: a guess.

    **Raises:** `ValueError` if the loops do not close from near the guess.
    """
    nz, kept_always = closure.tree.nz, closure.rheonomic
    free, rng, jacobians = np.zeros(nz, bool), np.random.default_rng(0), []
    for trial in range(TRIALS):
        start = y if trial == 0 else closure.moved(y, SPREAD * rng.normal(size=nz))
        closed, left = closure.closed(start, free)
        if left <= closure.tolerance and np.all(np.isfinite(closure(closed)[1])):
            jacobians.append(closure(closed)[1][~kept_always])
        if len(jacobians) == SEVERAL:
            break
    if not jacobians:
        raise ValueError(
            "The loops do not close from coordinates near the guess; give guess={joint: value} "
            "nearer to a configuration that is possible."
        )
    kept = _independent(jacobians, closure.rank, closure.of_functions[~kept_always])
    if kept is None or not np.any(kept_always):
        return kept
    out = np.zeros((len(kept) + np.sum(kept_always), len(kept_always)))
    out[: len(kept), ~kept_always] = kept
    out[len(kept) :, kept_always] = np.eye(np.sum(kept_always))
    return out


def _independent(
    jacobians: Sequence[np.ndarray], rank_at: float, of_functions: np.ndarray
) -> np.ndarray | None:
    """The combinations, of the Jacobians at several configurations; `None` keeps all rows.

    - `of_functions`: which rows are functions of the user, whose size says nothing.
    """
    together = np.concatenate(jacobians, axis=1)
    if not together.size:
        return np.zeros((0, len(together)))
    sizes = np.linalg.norm(together, axis=1)
    scales = np.where(of_functions & (sizes > rank_at**1.5 * np.max(sizes)), sizes, 1)
    kept = _combinations([C / scales[:, None] for C in jacobians], rank_at)
    return None if kept is None else kept / scales[None, :]


def _combinations(jacobians: Sequence[np.ndarray], rank_at: float) -> np.ndarray | None:
    together = np.concatenate(jacobians, axis=1)
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
