"""References in natural coordinates: points and directions, in NumPy and SciPy alone.

Bodies are vectors `x`, shape `(n, d)`, with a constant mass matrix that acts on all components
alike; what is rigid are products `(x_i - x_j) . (x_k - x_l)` that do not change. Accelerations are
the least, in the norm of the mass matrix, that constraints allow, so that dependent constraints
and singular positions do no harm.

Source: J. Garcia de Jalon & E. Bayo, *Kinematic and Dynamic Simulation of Multibody Systems*,
chapter 2; F. E. Udwadia & R. E. Kalaba, *A new perspective on constrained motion* (1992).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp


# Tolerance of the reference, and of singular values.
TIGHT, RANK = 1e-12, 1e-10


class Natural:
    """Vectors that move, and products of them that are constant.

    **Arguments:**

    - `x`: all vectors at the start, `(n, d)`; `fixed`: which of them do not move.
    - `gravity`: the acceleration of points, `(d,)`.
    - `points`: which vectors are points; the others are directions.

    **Attributes:**

    - `M`: the mass matrix, `(n, n)`; `force`: `force(x, v)`, forces other than weight, `(n, d)`.
    """

    def __init__(
        self, x: np.ndarray, fixed: Sequence[int], gravity: Sequence[float],
        points: Sequence[int] | None = None,
    ):  # fmt: skip
        self.x = np.array(x, float)
        n = len(self.x)
        self.free = np.setdiff1d(np.arange(n), fixed)
        self.M = np.zeros((n, n))
        self.force: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
        falls = np.zeros(n)
        falls[np.arange(n) if points is None else np.asarray(points)] = 1.0
        self.fall = falls[:, None] * np.asarray(gravity, float)
        self.pairs: list[tuple[int, int, int, int]] = []
        self.offsets: list[np.ndarray] = []

    def bar(self, i: int, j: int, mass: float) -> None:
        """A uniform bar between two points."""
        self.M[np.ix_([i, j], [i, j])] += mass / 6 * np.array([[2.0, 1.0], [1.0, 2.0]])
        self.rigid(i, j, i, j)

    def between(self, i: int, j: int, offset: np.ndarray, mass: float) -> None:
        """A uniform bar from a point to another one and a constant vector."""
        self.M[np.ix_([i, j], [i, j])] += mass / 6 * np.array([[2.0, 1.0], [1.0, 2.0]])
        self._row(i, j, i, j, -offset)

    def block(self, ends: tuple[int, int], axes: Sequence[int], mass: float, thick: float) -> None:
        """A block of square section along two points, with directions along its other edges."""
        self.bar(*ends, mass)
        i, j = ends
        for number, k in enumerate(axes):
            self.M[k, k] += mass * thick**2 / 12
            self.rigid(i, j, k)
            for other in axes[number + 1 :]:
                self._row(k, -1, other, -1)
            self._row(k, -1, k, -1)

    def rigid(self, i: int, j: int, k: int, l: int = -1) -> None:  # noqa: E741
        """The product of the difference of two vectors with another difference, or a vector."""
        self._row(i, j, k, l)

    def _row(self, i: int, j: int, k: int, l: int, offset: Any = 0.0) -> None:  # noqa: E741
        self.pairs.append((i, j, k, l))
        self.offsets.append(np.broadcast_to(offset, self.x.shape[1]))

    def _rows(self, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Jacobian of the products, and what their second derivatives have without `x''`."""
        n, d = x.shape
        C, c = np.zeros((len(self.pairs), n, d)), np.zeros(len(self.pairs))
        zero = np.zeros((1, d))
        x, v = np.concatenate([x, zero]), np.concatenate([v, zero])
        for row, ((i, j, k, l), offset) in enumerate(zip(self.pairs, self.offsets, strict=True)):
            a, b = x[i] - x[j] + offset, x[k] - x[l] + offset
            for at, sign, along in ((i, 1, b), (j, -1, b), (k, 1, a), (l, -1, a)):
                if at >= 0:
                    C[row, at] += sign * along
            c[row] = 2 * (v[i] - v[j]) @ (v[k] - v[l])
        return C, c

    def accelerations(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Of the vectors that move."""
        C, c = self._rows(x, v)
        free, d = self.free, x.shape[1]
        M = self.M[np.ix_(free, free)]
        force = self.M @ self.fall
        if self.force is not None:
            force = force + self.force(x, v)
        a = np.linalg.solve(M, force[free])
        root = np.linalg.inv(np.linalg.cholesky(M))  # root M root^T = 1
        scaled = np.einsum("rnd,mn->rmd", C[:, free], root).reshape(len(C), -1)
        missing = -c - np.einsum("rnd,nd->r", C[:, free], a)
        push = np.linalg.lstsq(scaled, missing, rcond=RANK)[0].reshape(len(free), d)
        return a + root.T @ push

    def velocities(self, known: dict[int, Sequence[float]]) -> np.ndarray:
        """The least that constraints allow, where some are known."""
        v = np.zeros_like(self.x)
        for at, value in known.items():
            v[at] = value
        C, _ = self._rows(self.x, v)
        open_ = np.setdiff1d(self.free, list(known))
        left = -np.einsum("rnd,nd->r", C, v)
        found = np.linalg.lstsq(C[:, open_].reshape(len(C), -1), left, rcond=RANK)[0]
        v[open_] = found.reshape(len(open_), -1)
        return v

    def motion(self, v: np.ndarray, times: Sequence[float]) -> np.ndarray:
        """The vectors at these times, `(times, n, d)`, from the start with velocities `v`."""
        free, (n, d) = self.free, self.x.shape
        size = len(free) * d

        def rate(t: float, state: np.ndarray) -> np.ndarray:
            del t
            x, w = self.x.copy(), np.zeros((n, d))
            x[free], w[free] = state[:size].reshape(-1, d), state[size:].reshape(-1, d)
            return np.concatenate([state[size:], self.accelerations(x, w).reshape(-1)])

        start = np.concatenate([self.x[free].reshape(-1), v[free].reshape(-1)])
        found = solve_ivp(
            rate, (0.0, times[-1]), start, "DOP853", times, rtol=TIGHT, atol=TIGHT
        )  # fmt: skip
        out = np.broadcast_to(self.x, (len(times), n, d)).copy()
        out[:, free] = found.y[:size].T.reshape(len(times), -1, d)
        return out
