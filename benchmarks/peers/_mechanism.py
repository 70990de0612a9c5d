"""One definition of a mechanism, from which every solver gets its form of the equations."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np


Scalars = Sequence[Any]


class Mechanism(abc.ABC):
    """The equations of a mechanism, over lists of scalars and a namespace of mathematics.

        q' = kin(q, v)
        M(q) v' = force(t, q, v) - (g_q T)^T lam - A(q)^T psi,   T = d kin / d v
        0 = g(t, q),   0 = A(q) v

    The namespace `m` has `sin`, `cos` and `sqrt`: `jax.numpy` or `casadi`, for instance.

    - `name`: that of the problem, and of its reference.
    - `q0`, `v0`: consistent initial coordinates and velocities.
    - `t_end`: the final time; the initial one is zero.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, equations (1)-(3), of which it is a special case.
    """

    name: str
    q0: np.ndarray
    v0: np.ndarray
    t_end: float

    @property
    def nq(self) -> int:
        """The number of coordinates."""
        return len(self.q0)

    @property
    def nv(self) -> int:
        """The number of velocities."""
        return len(self.v0)

    def kin(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The derivatives of the coordinates, `nq` of them. Default: the velocities."""
        del m, q
        return list(v)

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """The rows of the mass matrix. Default: the identity."""
        del m, q
        return np.eye(self.nv).tolist()

    @abc.abstractmethod
    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """All forces but those of the constraints, `nv` of them."""

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """The holonomic constraints. Default: none."""
        del m, t, q
        return []

    def nonholonomic(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """The rows of the matrix of the nonholonomic constraints. Default: none."""
        del m, q
        return []

    @property
    def plain_kin(self) -> bool:
        """Whether the derivatives of the coordinates are the velocities."""
        return type(self).kin is Mechanism.kin

    @property
    def unit_mass(self) -> bool:
        """Whether the mass matrix is the identity."""
        return type(self).mass is Mechanism.mass
