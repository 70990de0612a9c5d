"""The coefficients of a SPARK method, and the assumptions that they must satisfy.

Notation of L. O. Jay, *On modified Newton iterations for SPARK methods applied to
constrained systems in mechanics*, section 2, and *Lagrange-d'Alembert SPARK integrators for
nonholonomic Lagrangian systems*, equations (6.1): `(c, b, A)` advances the coordinates,
`(A_hat, b_hat)` weighs the forces `f`, `(A_psi, b_psi)` the nonholonomic constraint forces
(the second paper's tilde), `(A_tilde, b_tilde)` the holonomic ones, and `(A_bar, c_tilde)`
places the nodes at which holonomic constraints hold.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from ._assumptions import check_assumptions, check_coupled_conditions, check_shapes
from ._decoupling import Decoupling
from ._holonomic import holonomic_coefficients, real_array
from ._properties import (
    is_lagrange_dalembert,
    is_symmetric,
    resonances,
    stability_at_infinity,
    stability_function,
)


@dataclasses.dataclass(frozen=True, eq=False)
class SparkTableau:
    """Coefficients of a SPARK method with `s` stages, all of them NumPy arrays.

    Holonomic constraints hold at `m` nodes after the start of the step, with `m = s` (as for
    Gauss and Radau IIA) or `m = s - 1` (as for Lobatto). Tableaux are compared and hashed by
    identity, so that they may be static structure under `jax.jit`.

    **Arguments:**

    - `name`: the name of the family, for instance `"Gauss"`.
    - `order`: the order of the states `y` and `z` at the end of a step. It is taken as given, as
        far as quadrature and the coupled conditions of order 2 and 3 allow.
    - `c`, `b`, `A`: shapes `(s,)`, `(s,)`, `(s, s)`; the coordinates.
    - `A_hat`, `b_hat`: shapes `(s, s)`, `(s,)`; the forces `f`.
    - `c_tilde`, `b_tilde`: shapes `(m + 1,)`; the constraint nodes, first 0 and last 1.
    - `A_bar`: shape `(m + 1, s)`; the coordinates at the constraint nodes.
    - `A_tilde`: shape `(s, m + 1)`; the holonomic constraint forces `r`.
    - `A_psi`, `b_psi`: shapes `(s, s)`, `(s,)`; the nonholonomic constraint forces.

    [`jaxspark.methods.SparkTableau.build`][] needs fewer coefficients.
    [`jaxspark.methods.SparkMethod`][] makes a method of the tableau.

    **Raises:** `ValueError` if an assumption of the method does not hold, saying which.

    ??? cite "Reference"
        L. O. Jay, *Specialized partitioned additive Runge-Kutta methods for systems of
        overdetermined DAEs with holonomic constraints*, SIAM J. Numer. Anal. 45 (2007), and
        *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems*, section 6.
    """

    name: str
    order: int
    c: np.ndarray
    b: np.ndarray
    A: np.ndarray
    A_hat: np.ndarray
    b_hat: np.ndarray
    c_tilde: np.ndarray
    b_tilde: np.ndarray
    A_bar: np.ndarray
    A_tilde: np.ndarray
    A_psi: np.ndarray
    b_psi: np.ndarray

    @classmethod
    def build(
        cls,
        name: str,
        order: int,
        c: Any,
        b: Any,
        A: Any,
        A_hat: Any = None,
        A_psi: Any = None,
    ) -> "SparkTableau":
        """A tableau from the coefficients of its stages, the same weights for all forces.

        Holonomic constraints hold at Lobatto nodes: at the stages themselves, if these are
        the `s` Lobatto nodes, else at `s + 1` of them. The coordinates there are interpolated,
        and `A_tilde` is the symplectic partner: `b_i A_tilde_ij + b_tilde_j A_bar_ji = b_i
        b_tilde_j`.

        **Arguments:**

        - `name`, `order`, `c`, `b`, `A`: see [`jaxspark.methods.SparkTableau`][].
        - `A_hat`: those of the forces `f`, shape `(s, s)`. Default: `A`.
        - `A_psi`: those of the nonholonomic constraint forces, shape `(s, s)`. Default: `A_hat`.

        **Returns:** the tableau.

        **Raises:** `ValueError` if an assumption does not hold, saying which.
        """
        A_hat = A if A_hat is None else A_hat
        A_psi = A_hat if A_psi is None else A_psi
        given = dict(c=c, b=b, A=A, A_hat=A_hat, A_psi=A_psi)
        real = {key: real_array(key, value) for key, value in given.items()}
        holonomic = holonomic_coefficients(real["c"], real["b"])
        return cls(name, order, **real, b_hat=real["b"], b_psi=real["b"], **holonomic)

    def __post_init__(self):
        arrays = [field.name for field in dataclasses.fields(self)][2:]
        for name in arrays:
            value = np.array(real_array(name, getattr(self, name)), np.float64)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        check_shapes(self)
        check_assumptions(self)
        self.decoupling.check()
        check_coupled_conditions(self)

    @property
    def stages(self) -> int:
        """The number of internal stages `s`."""
        return len(self.b)

    @property
    def constraint_nodes(self) -> int:
        """The number of holonomic multipliers in a step, `m + 1`: `s + 1` or `s`."""
        return len(self.b_tilde)

    @property
    def nodes_are_stages(self) -> bool:
        """Whether the holonomic constraints hold at the times of the stages."""
        same_number = self.c_tilde.size == self.c.size
        return same_number and np.allclose(self.c_tilde, self.c, rtol=0, atol=1e-13)

    @property
    def same_psi(self) -> bool:
        """Whether both kinds of forces, `f` and those of `psi`, have the same coefficients."""
        return np.array_equal(self.A_psi, self.A_hat) and np.array_equal(self.b_psi, self.b_hat)

    @functools.cached_property
    def symmetric(self) -> bool:
        """Whether the method is its own adjoint: the symmetry conditions (6.3).

        The coefficients of the holonomic constraints must satisfy them, too.
        """
        return is_symmetric(self)

    @functools.cached_property
    def lagrange_dalembert(self) -> bool:
        """Whether the method is a Lagrange-d'Alembert integrator: the conditions (6.2).

        `b_hat = b` and `b_hat_i a_ij + b_j a_hat_ji = b_hat_i b_j`. With holonomic constraints
        alone the method is then symplectic, if also `b_i a_tilde_ij + b_tilde_j a_bar_ji =
        b_i b_tilde_j`, which is asked for here, too.
        """
        return is_lagrange_dalembert(self)

    def R(self, x: complex | float) -> complex:
        """The stability function `1 + x b^T (I - x A)^{-1} 1` of the coordinates.

        It is infinite at a pole.
        """
        return stability_function(self.A, self.b, x)

    @functools.cached_property
    def R_infinity(self) -> float:
        """The limit of `R(x)` for large `x`, infinite if there is none."""
        return stability_at_infinity(self.A, self.b)

    @functools.cached_property
    def resonances(self) -> tuple[float, ...]:
        """The `omega h` at which the stage equations of `y'' = -omega^2 y` are singular.

        No step of that size can be made, and those near it are badly conditioned. Gauss, Radau
        IIA and most Lobatto methods have none.
        """
        return resonances(self.A, self.A_hat)

    @functools.cached_property
    def decoupling(self) -> Decoupling:
        """The matrices by which the equations of a step fall apart."""
        return Decoupling(
            self.c, self.b, self.A_psi, self.b_psi, self.A_bar, self.A_tilde, self.b_tilde
        )

    @property
    def alpha(self) -> np.ndarray:
        """`[A; b]`, shape `(s + 1, s)`."""
        return np.vstack([self.A, self.b])

    @property
    def alpha_hat(self) -> np.ndarray:
        """`[A_hat; b_hat]`, shape `(s + 1, s)`."""
        return np.vstack([self.A_hat, self.b_hat])

    @property
    def alpha_psi(self) -> np.ndarray:
        """`[A_psi; b_psi]`, shape `(s + 1, s)`."""
        return np.vstack([self.A_psi, self.b_psi])

    @property
    def alpha_tilde(self) -> np.ndarray:
        """`[A_tilde; b_tilde]`, shape `(s + 1, m + 1)`."""
        return np.vstack([self.A_tilde, self.b_tilde])

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "not symmetric"
        principle = "Lagrange-d'Alembert" if self.lagrange_dalembert else "not Lagrange-d'Alembert"
        head = f"{self.name}, s = {self.stages}, order {self.order}, {kind}, {principle}"
        parts = [head + f", R(infinity) = {self.R_infinity:.3g}"]
        shown: list[np.ndarray] = []
        for name, weights in (("A", "b"), ("A_hat", "b_hat"), ("A_psi", "b_psi")):
            alpha = np.vstack([getattr(self, name), getattr(self, weights)])
            if not any(np.array_equal(alpha, other) for other in shown):
                shown.append(alpha)
                parts.append(_printed(name, weights, self.c, alpha))
        parts.append(_printed("A_bar", None, self.c_tilde, self.A_bar))
        return "\n".join([*parts, _printed("A_tilde", "b_tilde", self.c, self.alpha_tilde)])


def _printed(name: str, weights: str | None, c: np.ndarray, alpha: np.ndarray) -> str:
    """A Butcher tableau as text: nodes, coefficients, and below a line the weights."""
    entries = [" ".join(f"{x: .16f}" for x in row) for row in alpha]
    lines = [f"{name}:"]
    lines += [f"{node: .16f} | {row}" for node, row in zip(c, entries, strict=False)]
    if weights is not None:
        lines += ["-" * len(lines[-1]), f"{weights:>19} | {entries[-1]}"]
    return "\n".join(lines)
