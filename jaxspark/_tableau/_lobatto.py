"""The Lobatto families IIIA, IIIB, IIIC, IIIC* and IIID, and SPARK tableaux made of them."""

import functools
from typing import TypeAlias

import numpy as np

from ._quadrature import integrate_lagrange, lagrange, lobatto_nodes
from ._spark import SparkTableau


Matrix: TypeAlias = np.ndarray
FAMILIES = ("A", "B", "C", "C*", "D")


@functools.cache
def lobatto_coefficients(stages: int) -> tuple[np.ndarray, np.ndarray, dict[str, Matrix]]:
    """`c`, `b`, and the matrices of the five families, in extended precision.

    - IIIA: collocation, `C(s)`.
    - IIIC: `a_i1 = b_1` and `C(s-1)`.
    - IIIB and IIIC* are the symplectic partners of IIIA and IIIC: `b_i a_ij + b_j a*_ji =
      b_i b_j`.
    - IIID is the mean of IIIC and IIIC*, its own partner.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.5; L. O.
    Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems*, section 7.
    """
    c = lobatto_nodes(stages)
    IIIA = integrate_lagrange(c, c)
    b = IIIA[-1]

    def partner(A):
        return b[None, :] * (1 - A.T / b[:, None])

    # Interpolation at the nodes but the first gives C(s-1); moving b_1 there keeps it so.
    inner = c[1:]
    at_start = lagrange(inner, np.zeros(1, np.longdouble))
    IIIC = np.empty_like(IIIA)
    IIIC[:, 0] = b[0]
    IIIC[:, 1:] = integrate_lagrange(inner, c) - b[0] * at_start
    IIIB, IIIC_star = partner(IIIA), partner(IIIC)
    # What these have exactly: they must not be rounding errors.
    IIIA[0], IIIB[:, -1], IIIB[:, 0] = 0, 0, b[0]
    IIIC[-1], IIIC_star[:, -1], IIIC_star[0] = b, 0, 0
    families = {"A": IIIA, "B": IIIB, "C": IIIC, "C*": IIIC_star, "D": (IIIC + IIIC_star) / 2}
    return c, b, families


@functools.cache
def lobatto_spark(stages: int, y: str, f: str, psi: str) -> SparkTableau:
    """The tableau with `y` by family III`y`, `f` by III`f`, the forces of `psi` by III`psi`.

    Whatever these are, holonomic constraints hold at the Lobatto nodes, where the coordinates
    are found by IIIA, and their forces enter by its partner IIIB. That is the choice for which
    they impose the same conditions as the nonholonomic ones, and which is symplectic.

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, section 7; for holonomic constraints L. O. Jay, *Symplectic partitioned
    Runge-Kutta methods for constrained Hamiltonian systems*, SIAM J. Numer. Anal. 33 (1996).
    """
    c, b, families = lobatto_coefficients(stages)
    name = f"Lobatto III{y}-III{f}-III{psi}"
    order = 2 * stages - 2
    return SparkTableau.build(name, order, c, b, families[y], families[f], families[psi])
