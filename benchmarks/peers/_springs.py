"""Stiff springs, as forces and as coordinates."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


class Sprung(Mechanism):
    """A mechanism with springs of one stiffness and damping, whose forces are in `force`."""

    stiffness: float
    damping: float = 0.0

    @abc.abstractmethod
    def free(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """All forces but those of the constraints and the springs."""

    @abc.abstractmethod
    def elongations(self, m: Any, q: Scalars) -> Scalars:
        """Of the springs."""

    @abc.abstractmethod
    def pull(self, m: Any, q: Scalars, v: Scalars) -> Scalars:
        """The forces of the springs."""

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """All forces but those of the constraints."""
        pairs = zip(self.free(m, t, q, v), self.pull(m, q, v), strict=True)
        return [a + b for a, b in pairs]


class Elongated(Mechanism):
    """The same mechanism with the elongations as coordinates without mass, last in `q`.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution
    of highly oscillatory constrained multibody dynamic systems*, section 4.
    """

    def __init__(self, plain: Sprung, elongations: Sequence[float], rates: Sequence[float]):
        self._plain = plain
        self.name, self.t_end = plain.name, plain.t_end
        self.q0 = np.append(plain.q0, elongations)
        self.v0 = np.append(plain.v0, rates)

    def _split(self, x: Scalars) -> tuple[Scalars, Scalars]:
        return x[: self._plain.nq], x[self._plain.nq :]

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """None for the elongations."""
        q, e = self._split(q)
        rows = [[*row, *[0.0] * len(e)] for row in self._plain.mass(m, q)]
        return rows + np.zeros((len(e), self.nv)).tolist()

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """Springs pull along their elongations."""
        (q, e), (v, rate) = self._split(q), self._split(v)
        k, d = self._plain.stiffness, self._plain.damping
        pulls = [-k * a - d * b for a, b in zip(e, rate, strict=True)]
        return [*self._plain.free(m, t, q, v), *pulls]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """Those of the mechanism, and what the elongations are."""
        q, e = self._split(q)
        pairs = zip(self._plain.elongations(m, q), e, strict=True)
        return [*self._plain.holonomic(m, t, q), *(a - b for a, b in pairs)]
