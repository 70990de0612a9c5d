"""The motion of a record as splines, and what its samples say of these and of parameters.

Unknown are the coefficients of the splines and the parameters together: noise of encoders is not
taken for accelerations. Coefficients are eliminated, interval by interval.

Source: W. A. Fuller, *Measurement Error Models*, section 3.2, on unknown true values beside
parameters; B. Janot, P.-O. Vandanjon & M. Gautier, *A generic instrumental variable approach for
industrial robot identification* (2014), on what noise of encoders does to least squares.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ._splines import Basis, basis, evaluated, fitted, LOCAL
from ._tridiagonal import Tridiagonal


# Samples that are treated at once.
AT_ONCE = 4096
RIDGE = 1e-13


class Samples(NamedTuple):
    """What was measured of the joints, NaN where it was not.

    - `times`; `q`, `v`, `tau`: of each velocity, shapes `(times, n)`.
    """

    times: Float[np.ndarray, " times"]
    q: Float[np.ndarray, "times n"]
    v: Float[np.ndarray, "times n"]
    tau: Float[np.ndarray, "times n"]

    @property
    def values(self) -> Float[np.ndarray, "times three n"]:
        """All of them."""
        return np.stack([self.q, self.v, self.tau], 1)


class Step(NamedTuple):
    """The least-squares problem for parameters that is left, and how coefficients follow.

    - `S`, `b`: `S dp = b`; `squares`: what the diagonal of `S` would be if the motion were known.
    - `of_motion`, `of_parameters`: the change of coefficients is the first less the second times
        that of parameters.
    - `factors`: of the normal matrix of the coefficients.
    """

    S: Float[np.ndarray, "p p"]
    b: Float[np.ndarray, " p"]
    squares: Float[np.ndarray, " p"]
    of_motion: Float[np.ndarray, "k m"]
    of_parameters: Float[np.ndarray, "k m p"]
    factors: Tridiagonal


class Motion:
    """The splines of one record.

    **Arguments:**

    - `samples`: of the record; `intervals`: of the splines.
    """

    def __init__(self, samples: Samples, intervals: int):
        self.samples = samples
        self.basis: Basis = basis(samples.times, intervals)
        self.coefficients = fitted(self.basis, samples.q)

    def states(self) -> Float[np.ndarray, "3 times n"]:
        """Coordinates, velocities and accelerations at the samples."""
        return evaluated(self.basis, self.coefficients)

    def _rows(
        self, at: slice, J: np.ndarray, weights: np.ndarray
    ) -> Float[np.ndarray, "times rows m"]:
        """Derivatives of weighted predictions by the coefficients that act, for some samples."""
        values = self.basis.values[:, at]
        n = J.shape[1]
        eye = np.eye(n)
        q, v = (np.einsum("tk,jl->tjkl", values[d], eye) for d in (0, 1))
        of = J[at].reshape(-1, n, 3, n)
        tau = np.einsum("tjdl,dtk->tjkl", of, values)
        rows = np.concatenate([q, v, tau], 1).reshape(len(of), 3 * n, LOCAL * n)
        return rows * weights[at].reshape(len(of), 3 * n, 1)

    def _parts(self) -> list[slice]:
        count = len(self.samples.times)
        return [slice(k, min(k + AT_ONCE, count)) for k in range(0, count, AT_ONCE)]

    def step(self, J: np.ndarray, Y: np.ndarray, left: np.ndarray, weights: np.ndarray) -> Step:
        """Gauss and Newton's step.

        **Arguments:**

        - `J`: derivatives of torques by `q`, `v` and accelerations, shape `(times, n, 3 n)`; `Y`:
            by the parameters, `(times, n, p)`.
        - `left`, `weights`: residuals, and the inverse of their standard deviations, zero where
            there is no sample, shapes `(times, 3, n)`.
        """
        n, p = J.shape[1], Y.shape[2]
        blocks = -(-self.basis.count // LOCAL) + 1
        size = LOCAL * n
        D, E = np.zeros((blocks, size, size)), np.zeros((blocks - 1, size, size))
        right = np.zeros((blocks * size, p + 1))
        S, b = np.zeros((p, p)), np.zeros(p)
        for at in self._parts():
            A = self._rows(at, J, weights)
            y = np.concatenate([np.zeros((len(A), 2 * n, p)), Y[at]], 1)
            y = y * weights[at].reshape(len(A), 3 * n, 1)
            r = (left[at] * weights[at]).reshape(len(A), 3 * n)
            S += np.einsum("trp,trs->ps", y, y)
            b += np.einsum("trp,tr->p", y, r)
            both = np.concatenate([y, r[:, :, None]], 2)
            first, begins = np.unique(self.basis.first[at], return_index=True)
            H = np.add.reduceat(A.transpose(0, 2, 1) @ A, begins, axis=0)
            F = np.add.reduceat(A.transpose(0, 2, 1) @ both, begins, axis=0)
            for f, h, part in zip(first.tolist(), H, F, strict=True):
                right[f * n : f * n + size] += part
                _add(D, E, h, f // LOCAL, (f % LOCAL) * n)
        diagonal = np.einsum("kii->ki", D)
        diagonal += RIDGE * np.max(diagonal)
        # Coefficients beyond the last are there to fill the last blocks.
        diagonal.reshape(-1)[self.basis.count * n :] = 1.0
        factors = Tridiagonal(D, E)
        found = factors.solve(right.reshape(blocks, size, p + 1)).reshape(-1, p + 1)
        squares = np.diag(S).copy()
        S -= right[:, :p].T @ found[:, :p]
        b -= right[:, :p].T @ found[:, p]
        return Step(S, b, squares, found[:, p], found[:, :p], factors)

    def move(self, step: Step, change: np.ndarray) -> None:
        """Change the coefficients as a step of the parameters says."""
        moved = step.of_motion - step.of_parameters @ change
        self.coefficients = self.coefficients + moved[: self.coefficients.size].reshape(
            self.coefficients.shape
        )

    def leverages(
        self, J: np.ndarray, Y: np.ndarray, weights: np.ndarray, step: Step, covariance: np.ndarray
    ) -> Float[np.ndarray, "three n"]:
        """Of each kind of sample, how many are used up by what is unknown."""
        n, size = J.shape[1], LOCAL * J.shape[1]
        D, E = step.factors.inverse_blocks()
        total = np.zeros(3 * n)
        for at in self._parts():
            A = self._rows(at, J, weights)
            first = self.basis.first[at]
            y = np.concatenate([np.zeros((len(A), 2 * n, Y.shape[2])), Y[at]], 1)
            y = y * weights[at].reshape(len(A), 3 * n, 1)
            found, begins = np.unique(first, return_index=True)
            for f, begin, end in zip(found, begins, [*begins[1:], len(A)], strict=True):
                rows = A[begin:end]
                k, shift = f // LOCAL, (f % LOCAL) * n
                cut = size - shift
                Z = np.empty((size, size))
                Z[:cut, :cut], Z[cut:, cut:] = D[k][shift:, shift:], D[k + 1][:shift, :shift]
                Z[:cut, cut:] = E[k][shift:, :shift]
                Z[cut:, :cut] = Z[:cut, cut:].T
                total += np.sum(rows @ Z * rows, (0, 2))
                rest = y[begin:end] - rows @ step.of_parameters[f * n : f * n + size]
                total += np.sum(rest @ covariance * rest, (0, 2))
        return total.reshape(3, n)


def _add(D: np.ndarray, E: np.ndarray, h: np.ndarray, k: int, shift: int) -> None:
    """Add to two blocks and what is between them."""
    size = h.shape[0]
    cut = size - shift
    D[k][shift:, shift:] += h[:cut, :cut]
    if shift:
        E[k][shift:, :shift] += h[:cut, cut:]
        D[k + 1][:shift, :shift] += h[cut:, cut:]
