"""The matrices that make the equations of a step fall apart.

They follow from the coefficients alone, for every family alike. Notation of L. O. Jay, *On
modified Newton iterations for SPARK methods applied to constrained systems in mechanics*,
section 2, with the coefficients of the nonholonomic constraint forces in place of `A_hat`.
"""

import functools

import numpy as np


SINGULAR = 1e10


def _without_rounding(matrix: np.ndarray) -> np.ndarray:
    """Entries that are rounding errors set to zero: products then leave them out."""
    return np.where(np.abs(matrix) <= 1e-14 * np.max(np.abs(matrix)), 0.0, matrix)


class Decoupling:
    """Linear combinations of the equations, and of the unknowns, that decouple them.

    The constraints on `s + 1` velocities are combinations `N` of them: both kinds, if the
    method has as many holonomic conditions as stages; `N` and one more, if it has one more.

    **Arguments:** the coefficients of a [`jaxspark.methods.SparkTableau`][].
    """

    def __init__(
        self,
        c: np.ndarray,
        b: np.ndarray,
        A_psi: np.ndarray,
        b_psi: np.ndarray,
        A_bar: np.ndarray,
        A_tilde: np.ndarray,
        b_tilde: np.ndarray,
    ):
        self.c, self.b = c, b
        self.alpha_psi = np.vstack([A_psi, b_psi])
        self.alpha_tilde = np.vstack([A_tilde, b_tilde])
        self.A_bar = A_bar

    def check(self) -> None:
        """Raise `ValueError`, with the reason, if the multipliers are not determined."""
        if np.linalg.cond(self.N @ self.alpha_psi) > SINGULAR:
            raise ValueError(
                "With these A_psi and b_psi the conditions on the nonholonomic constraints do "
                "not determine their multipliers: the matrix N [A_psi; b_psi] is singular. So "
                "it is for Lobatto IIIA; IIIB, IIIC, IIIC* and IIID are regular."
            )
        n = self.A_bar.shape[0]
        if np.linalg.matrix_rank(self.holonomic_conditions, tol=1e-10) < n:
            raise ValueError(
                "The holonomic constraint nodes do not give independent conditions: A_bar "
                "without its first row must have full rank."
            )
        conditions = self.Q[:n] - self.Q_check @ self.holonomic_conditions
        if np.max(np.abs(conditions)) > 1e-9:
            raise ValueError(
                "With as many constraint nodes as stages, A_bar must impose the same "
                "combinations of the velocities as the conditions on k, sum_j b_j c_j^{i-1} k_j "
                "= 0: the rows of A_bar must span the polynomials of degree s - 2 in c, times b."
            )
        if np.linalg.cond(self.Q[:n] @ self.alpha_tilde) > SINGULAR:
            raise ValueError(
                "With these A_tilde and b_tilde the holonomic constraints do not determine "
                "their multipliers: the matrix Q [A_tilde; b_tilde] is singular."
            )

    @functools.cached_property
    def N(self) -> np.ndarray:
        """The quadrature conditions that nonholonomic constraints satisfy, `(s, s + 1)`.

        Its rows span those of `[b_j c_j^{i-1}, 0]`, `i = 1..s-1`, and `e_{s+1}`. Legendre
        polynomials replace the paper's monomials: the same space, but well conditioned.
        """
        s = self.b.size
        polynomials = np.polynomial.legendre.legvander(2 * self.c - 1, s - 1)[:, : s - 1]
        conditions = np.zeros((s, s + 1))
        conditions[: s - 1, :s] = (self.b[:, None] * polynomials).T
        conditions[-1, -1] = 1.0
        return conditions

    @property
    def holonomic_conditions(self) -> np.ndarray:
        """`blockdiag(A_bar[1:], 1)`: velocities in the linearised `g = 0` and `gdot = 0`."""
        m, s = self.A_bar.shape[0] - 1, self.b.size
        conditions = np.zeros((m + 1, s + 1))
        conditions[:m, :s] = self.A_bar[1:]
        conditions[m, s] = 1.0
        return conditions

    @functools.cached_property
    def gamma(self) -> np.ndarray:
        """The row that annihilates `[A_psi; b_psi]`, shape `(s + 1,)`.

        The paper's `[-b^T A^{-1}, 1]` where `A_psi = A` is invertible.
        """
        null = np.linalg.svd(self.alpha_psi.T)[2][-1]
        largest = null[np.argmax(np.abs(null))]
        return _without_rounding(null / (null[-1] if abs(null[-1]) > 1e-6 else largest))

    @functools.cached_property
    def Q_tilde(self) -> np.ndarray:
        """`(N alpha_psi)^{-1} N`, shape `(s, s + 1)`, so that `Q_tilde @ alpha_psi = I`.

        `A` times it is the paper's `[I 0] + A M^{-1} 1 gamma^T`, whose `M` has rows `b^T` and
        `b^T - i b^T C^{i-1} A`, where `A_psi = A`: both have the row space of `N` and the same
        product with `alpha`. The paper's form loses four digits at `s = 8`, and does not
        exist for Lobatto IIIA and IIIB, which are singular.
        """
        return _without_rounding(np.linalg.solve(self.N @ self.alpha_psi, self.N))

    @functools.cached_property
    def Q(self) -> np.ndarray:
        """`[Q_tilde; gamma^T]`, shape `(s + 1, s + 1)`, invertible."""
        return np.vstack([self.Q_tilde, self.gamma])

    @functools.cached_property
    def Q_inverse(self) -> np.ndarray:
        """The inverse of `Q`."""
        return _without_rounding(np.linalg.inv(self.Q))

    @functools.cached_property
    def Q_check(self) -> np.ndarray:
        """The combinations of `g / h` at the nodes, and of `gdot`, that match the rows of `Q`.

        Shape `(m + 1, m + 1)`. The paper's `Q blockdiag(A_ring^{-1}, 1)`, for `m = s`; for
        `m = s - 1` the same of the rows of `Q_tilde`, which are combinations of these.
        """
        n = self.A_bar.shape[0]
        solution = np.linalg.lstsq(self.holonomic_conditions.T, self.Q[:n].T, rcond=None)[0]
        return _without_rounding(solution.T)

    @functools.cached_property
    def lam_recovery(self) -> np.ndarray:
        """Decoupled impulses to `Lambda`, shape `(m + 1, m + 1)`.

        The inverse of `Q alpha_tilde`, without its last row for `m = s - 1`.
        """
        n = self.A_bar.shape[0]
        return _without_rounding(np.linalg.inv(self.Q[:n] @ self.alpha_tilde))

    @functools.cached_property
    def coupling(self) -> np.ndarray | None:
        """How the last velocity depends on the holonomic impulses, shape `(s,)`, for `m = s - 1`.

        `gamma^T alpha_tilde (Q_tilde alpha_tilde)^{-1}`; `None` where it vanishes.
        """
        if self.A_bar.shape[0] == self.b.size + 1:
            return None
        row = self.gamma @ self.alpha_tilde @ self.lam_recovery
        return None if np.max(np.abs(row)) <= 1e-12 else _without_rounding(row)
