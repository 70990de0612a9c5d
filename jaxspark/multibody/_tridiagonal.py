"""Symmetric block-tridiagonal systems: what follows of a motion's coefficients from all samples.

Source: G. H. Golub & C. F. Van Loan, *Matrix Computations*, section 4.5; the blocks of the inverse
by the recursion of K. Takahashi, J. Fagan & M. Chin, *Formation of a sparse bus impedance matrix*
(1973).
"""

import numpy as np
from jaxtyping import Float


class Tridiagonal:
    """The factors of a positive definite matrix.

    **Arguments:**

    - `diagonal`: its blocks, shape `(k, m, m)`; `above`: those right of them, `(k - 1, m, m)`.
    """

    def __init__(self, diagonal: Float[np.ndarray, "k m m"], above: Float[np.ndarray, "k1 m m"]):
        self.above = above
        self.inverses = np.zeros_like(diagonal)
        pivot = diagonal[0]
        for k in range(len(diagonal)):
            self.inverses[k] = np.linalg.inv(pivot)
            if k < len(above):
                pivot = diagonal[k + 1] - above[k].T @ self.inverses[k] @ above[k]

    def solve(self, right: Float[np.ndarray, "k m r"]) -> Float[np.ndarray, "k m r"]:
        """The solution of the system."""
        x = right.copy()
        for k in range(1, len(x)):
            x[k] -= self.above[k - 1].T @ (self.inverses[k - 1] @ x[k - 1])
        x[-1] = self.inverses[-1] @ x[-1]
        for k in range(len(x) - 2, -1, -1):
            x[k] = self.inverses[k] @ (x[k] - self.above[k] @ x[k + 1])
        return x

    def inverse_blocks(self) -> tuple[Float[np.ndarray, "k m m"], Float[np.ndarray, "k1 m m"]]:
        """The blocks of the inverse on the diagonal and right of it."""
        diagonal, above = self.inverses.copy(), np.zeros_like(self.above)
        for k in range(len(self.above) - 1, -1, -1):
            step = self.inverses[k] @ self.above[k]
            above[k] = -step @ diagonal[k + 1]
            diagonal[k] = self.inverses[k] + step @ diagonal[k + 1] @ step.T
        return diagonal, above
