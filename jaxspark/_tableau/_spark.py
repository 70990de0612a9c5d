"""The coefficients of an (s,s)-SPARK method and the matrices that decouple its equations.

Notation of L. O. Jay, *On modified Newton iterations for SPARK methods applied to
constrained systems in mechanics*, section 2: `(c, b, A)` advances the coordinates,
`(A_hat, b_hat)` weighs the forces, `(A_tilde, b_tilde)` the holonomic constraint forces,
and `(A_bar, c_tilde)` places the nodes at which holonomic constraints hold.
"""

import dataclasses
import functools

import numpy as np

from ._quadrature import integrate_lagrange, lobatto_nodes


@dataclasses.dataclass(frozen=True, eq=False)
class SparkTableau:
    """Coefficients of an (s,s)-SPARK method, all of them NumPy arrays.

    Compared and hashed by identity, so that it may be static structure under `jax.jit`.

    **Arguments:**

    - `name`: of the family, for instance `"Gauss"`.
    - `order`: of the states `y` and `z` at the end of a step.
    - `symmetric`: whether the method is its own adjoint.
    - `c`, `b`, `A`: shapes `(s,)`, `(s,)`, `(s, s)`.
    - `A_hat`, `b_hat`: shapes `(s, s)`, `(s,)`; the forces `f`.
    - `c_tilde`, `b_tilde`: shapes `(s + 1,)`; the constraint nodes, first 0 and last 1.
    - `A_bar`: shape `(s + 1, s)`; the coordinates at the constraint nodes.
    - `A_tilde`: shape `(s, s + 1)`; the holonomic constraint forces `r`.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, section 2, and *Specialized partitioned additive
        Runge-Kutta methods for systems of overdetermined DAEs with holonomic
        constraints*, SIAM J. Numer. Anal. 45 (2007).
    """

    name: str
    order: int
    symmetric: bool
    c: np.ndarray
    b: np.ndarray
    A: np.ndarray
    A_hat: np.ndarray
    b_hat: np.ndarray
    c_tilde: np.ndarray
    b_tilde: np.ndarray
    A_bar: np.ndarray
    A_tilde: np.ndarray

    def __post_init__(self):
        s = self.stages
        shapes = dict(
            c=(s,), b=(s,), A=(s, s), A_hat=(s, s), b_hat=(s,), c_tilde=(s + 1,),
            b_tilde=(s + 1,), A_bar=(s + 1, s), A_tilde=(s, s + 1),
        )  # fmt: skip
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                got = getattr(self, name).shape
                raise ValueError(f"{name} must have shape {shape}; got {got}.")
        if np.any(self.b == 0) or len(np.unique(self.c)) < s:
            raise ValueError("A SPARK tableau needs nonzero weights b and distinct c.")
        # With these the last constraint node is the end of the step, and e^T Q α̂ = 0.
        assumptions = {
            "A_bar[0] = 0": np.all(self.A_bar[0] == 0),
            "A_bar[s] = b": np.allclose(self.A_bar[s], self.b, rtol=0, atol=1e-14),
            "A_hat = A and b_hat = b": np.allclose(self.alpha_hat, self.alpha, rtol=0, atol=1e-14),
            "A invertible": np.linalg.cond(self.A) < 1e12,
        }
        for words, holds in assumptions.items():
            if not holds:
                raise ValueError(f"This tableau breaks the assumption {words}.")

    @property
    def stages(self) -> int:
        """The number of internal stages `s`."""
        return len(self.b)

    @property
    def alpha(self) -> np.ndarray:
        """`[A; b]`, shape `(s + 1, s)`."""
        return np.vstack([self.A, self.b])

    @property
    def alpha_hat(self) -> np.ndarray:
        """`[A_hat; b_hat]`, shape `(s + 1, s)`."""
        return np.vstack([self.A_hat, self.b_hat])

    @property
    def alpha_tilde(self) -> np.ndarray:
        """`[A_tilde; b_tilde]`, shape `(s + 1, s + 1)`."""
        return np.vstack([self.A_tilde, self.b_tilde])

    @functools.cached_property
    def gamma(self) -> np.ndarray:
        """`[-b^T A^{-1}, 1]`, shape `(s + 1,)`; it annihilates `alpha` from the left."""
        return np.append(-np.linalg.solve(self.A.T, self.b), 1.0)

    @functools.cached_property
    def N(self) -> np.ndarray:
        """The quadrature conditions that nonholonomic constraints satisfy, `(s, s + 1)`.

        Its rows span those of `[b_j c_j^{i-1}, 0]`, `i = 1..s-1`, and `e_{s+1}`. Legendre
        polynomials replace the paper's monomials: the same space, but well conditioned.
        """
        s = self.stages
        polynomials = np.polynomial.legendre.legvander(2 * self.c - 1, s - 1)[:, : s - 1]
        conditions = np.zeros((s, s + 1))
        conditions[: s - 1, :s] = (self.b[:, None] * polynomials).T
        conditions[-1, -1] = 1.0
        return conditions

    @functools.cached_property
    def Q_tilde(self) -> np.ndarray:
        """`A (N alpha)^{-1} N`, shape `(s, s + 1)`, so that `Q_tilde @ alpha = A`.

        This is the paper's `[I 0] + A M^{-1} 1 gamma^T`, whose `M` has rows `b^T` and
        `b^T - i b^T C^{i-1} A`: both have the row space of `N` and the same product with
        `alpha`. The paper's form loses four digits at `s = 8`; this one loses none.
        """
        return self.A @ np.linalg.solve(self.N @ self.alpha, self.N)

    @functools.cached_property
    def Q(self) -> np.ndarray:
        """`[Q_tilde; gamma^T]`, shape `(s + 1, s + 1)`, invertible."""
        return np.vstack([self.Q_tilde, self.gamma])

    @functools.cached_property
    def Q_inverse(self) -> np.ndarray:
        """The inverse of `Q`."""
        return np.linalg.inv(self.Q)

    @functools.cached_property
    def Q_check(self) -> np.ndarray:
        """`Q blockdiag(A_ring^{-1}, 1)` with `A_ring = A_bar[1:]`, shape `(s + 1, s + 1)`."""
        s = self.stages
        scaled = np.linalg.solve(self.A_bar[1:].T, self.Q[:, :s].T).T
        return np.hstack([scaled, self.Q[:, s:]])

    @functools.cached_property
    def lam_recovery(self) -> np.ndarray:
        """`(Q alpha_tilde)^{-1}`, shape `(s + 1, s + 1)`: decoupled impulses to `Lambda`."""
        return np.linalg.inv(self.Q @ self.alpha_tilde)

    @functools.cached_property
    def psi_recovery(self) -> np.ndarray:
        """`(Q_tilde alpha_hat)^{-1}`, shape `(s, s)`: decoupled impulses to `Psi`."""
        return np.linalg.inv(self.Q_tilde @ self.alpha_hat)

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "not symmetric"
        head = f"{self.name}, s = {self.stages}, order {self.order}, {kind}"
        rows = np.hstack([self.c[:, None], self.A])
        body = [" ".join(f"{x: .16f}" for x in row) for row in rows]
        foot = " " * 20 + " ".join(f"{x: .16f}" for x in self.b)
        return "\n".join([head, *body, foot])


def collocation_spark(name: str, order: int, symmetric: bool, nodes: np.ndarray) -> SparkTableau:
    """The (s,s)-SPARK tableau of the collocation method on `nodes`.

    The constraint nodes are the `s + 1` Lobatto nodes, and `A_tilde` is the symplectic
    partner of `A_bar`: `b_i A_tilde_ij + b_tilde_j A_bar_ji = b_i b_tilde_j`.
    """
    s = len(nodes)
    c_tilde = lobatto_nodes(s + 1)
    A = integrate_lagrange(nodes, nodes)
    A_bar = integrate_lagrange(nodes, c_tilde)
    b = A_bar[-1]
    b_tilde = integrate_lagrange(c_tilde, np.ones(1, np.longdouble))[0]
    A_tilde = b_tilde[None, :] * (1 - A_bar.T / b[:, None])
    # The last constraint node is the end of the step, where A_bar repeats b.
    A_tilde[:, -1] = 0
    arrays = dict(
        c=nodes, b=b, A=A, A_hat=A, b_hat=b, c_tilde=c_tilde, b_tilde=b_tilde,
        A_bar=A_bar, A_tilde=A_tilde,
    )  # fmt: skip
    rounded = {key: np.asarray(value, np.float64) for key, value in arrays.items()}
    return SparkTableau(name=name, order=order, symmetric=symmetric, **rounded)
