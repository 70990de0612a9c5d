"""The methods that a user names: Gauss, Radau IIA, Lobatto, and any other tableau."""

import functools
from typing import Literal, TypeAlias

import equinox as eqx

from ._collocation import collocation_spark
from ._lobatto import FAMILIES, lobatto_spark
from ._quadrature import gauss_nodes, radau_nodes
from ._spark import SparkTableau


MAX_STAGES = 8
Family: TypeAlias = Literal["A", "B", "C", "C*", "D"]


class AbstractSparkMethod(eqx.Module):
    """A method is its tableau, which is static structure under JAX transformations."""

    tableau: eqx.AbstractVar[SparkTableau]

    @property
    def stages(self) -> int:
        """The number of internal stages `s`."""
        return self.tableau.stages

    @property
    def order(self) -> int:
        """The order of `y`, `z` and of the reported multipliers."""
        return self.tableau.order


def _check_stages(stages: int, fewest: int = 1) -> None:
    if isinstance(stages, bool) or not isinstance(stages, int):
        raise TypeError(f"stages must be a Python integer; got {stages!r}.")
    if not fewest <= stages <= MAX_STAGES:
        raise ValueError(f"stages must be from {fewest} to {MAX_STAGES}; got {stages}.")


@functools.cache
def _gauss(stages: int) -> SparkTableau:
    return collocation_spark("Gauss", 2 * stages, gauss_nodes(stages))


@functools.cache
def _radau(stages: int) -> SparkTableau:
    return collocation_spark("Radau IIA", 2 * stages - 1, radau_nodes(stages))


class Gauss(AbstractSparkMethod):
    """The (s,s)-Gauss-Lobatto SPARK method: order `2s`, symmetric, symplectic.

    The method of choice for mechanisms without strong damping: over long times its energy
    error stays bounded. Holonomic constraints hold at the `s + 1` Lobatto nodes.

    **Arguments:**

    - `stages`: the number of stages `s`, from 1 to 8.

    **Raises:** `ValueError` if `stages` is out of range, `TypeError` if no integer.

    ??? cite "Reference"
        L. O. Jay, *Specialized partitioned additive Runge-Kutta methods for systems of
        overdetermined DAEs with holonomic constraints*, SIAM J. Numer. Anal. 45 (2007).
    """

    tableau: SparkTableau = eqx.field(static=True, repr=False)

    def __init__(self, stages: int = 2):
        _check_stages(stages)
        self.tableau = _gauss(stages)

    def __repr__(self) -> str:
        return f"Gauss(stages={self.stages})"


class RadauIIA(AbstractSparkMethod):
    """The (s,s)-Radau IIA-Lobatto SPARK method: order `2s - 1`, stiffly accurate.

    It damps fast transients, so it suits strongly dissipative systems; it is neither
    symmetric nor symplectic.

    **Arguments:**

    - `stages`: the number of stages `s`, from 1 to 8.

    **Raises:** `ValueError` if `stages` is out of range, `TypeError` if no integer.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, section 2 (coefficients of Radau type).
    """

    tableau: SparkTableau = eqx.field(static=True, repr=False)

    def __init__(self, stages: int = 2):
        _check_stages(stages)
        self.tableau = _radau(stages)

    def __repr__(self) -> str:
        return f"RadauIIA(stages={self.stages})"


class Lobatto(AbstractSparkMethod):
    """temp"""

    tableau: SparkTableau = eqx.field(static=True, repr=False)
    y: str = eqx.field(static=True)
    f: str = eqx.field(static=True)
    psi: str = eqx.field(static=True)

    def __init__(self, stages: int = 2, y: Family = "A", f: Family = "B", psi: Family = "B"):
        _check_stages(stages, fewest=2)
        self.y, self.f, self.psi = y, f, psi
        self.tableau = lobatto_spark(stages, y, f, psi)

    def __repr__(self) -> str:
        return f"Lobatto(stages={self.stages}, y={self.y!r}, f={self.f!r}, psi={self.psi!r})"
