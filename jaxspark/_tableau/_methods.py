"""The methods that a user names: Gauss, Radau IIA, Lobatto, and any other tableau."""

import functools

import equinox as eqx
import numpy as np

from ._lobatto import FAMILIES, lobatto_spark
from ._quadrature import gauss_nodes, integrate_lagrange, radau_nodes
from ._spark import SparkTableau


MAX_STAGES = 8


class AbstractSparkMethod(eqx.Module):
    """A SPARK method: its `tableau`, which is static structure under JAX transformations.

    - `tableau`: a [`jaxspark.methods.SparkTableau`][].
    """

    tableau: eqx.AbstractVar[SparkTableau]

    @property
    def stages(self) -> int:
        """The number of internal stages `s`."""
        return self.tableau.stages

    @property
    def order(self) -> int:
        """The order of `y`, `z` and of the reported multipliers."""
        return self.tableau.order

    @property
    def parts(self) -> tuple[float, ...]:
        """The fractions of a step by which the tableau is applied, one after the other."""
        return (1.0,)


def _check_stages(stages: int, fewest: int = 1) -> None:
    if isinstance(stages, bool) or not isinstance(stages, (int, np.integer)):
        raise TypeError(f"stages must be a Python integer; got {stages!r}.")
    if not fewest <= stages <= MAX_STAGES:
        raise ValueError(f"stages must be from {fewest} to {MAX_STAGES}; got {stages}.")


def _collocation(name: str, order: int, nodes: np.ndarray) -> SparkTableau:
    """The (s,s)-SPARK tableau of the collocation method on `nodes`."""
    b = integrate_lagrange(nodes, np.ones(1, np.longdouble))[0]
    return SparkTableau.build(name, order, nodes, b, integrate_lagrange(nodes, nodes))


@functools.cache
def _gauss(stages: int) -> SparkTableau:
    return _collocation("Gauss", 2 * stages, gauss_nodes(stages))


@functools.cache
def _radau(stages: int) -> SparkTableau:
    return _collocation("Radau IIA", 2 * stages - 1, radau_nodes(stages))


class Gauss(AbstractSparkMethod):
    """The (s,s)-Gauss-Lobatto SPARK method: order `2s`, symmetric, symplectic.

    It is the method of choice for mechanisms without strong damping: over long times the energy
    error of holonomic ones stays bounded. Holonomic constraints hold at the `s + 1` Lobatto nodes.

    **Arguments:**

    - `stages`: the number of stages `s`, from 1 to 8.

    **Raises:** `ValueError` if `stages` is out of range, `TypeError` if it is not an integer.

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

    **Raises:** `ValueError` if `stages` is out of range, `TypeError` if it is not an integer.

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
    """The SPARK methods of Lobatto type: order `2s - 2`.

    The coordinates `y`, the forces `f` and the nonholonomic constraint forces (those of `psi`)
    are weighed by the coefficients of three families, each IIIA, IIIB, IIIC, IIIC* or IIID.
    Holonomic constraints hold at the Lobatto nodes, where the coordinates are found by IIIA,
    and their forces enter by IIIB, whatever the other families are.

    - `Lobatto(s)`, IIIA-IIIB-IIIB, is symmetric, symplectic for holonomic systems, and a
        Lagrange-d'Alembert integrator. With holonomic constraints, `v = z`, and `s = 2` it is
        RATTLE.
    - `y="D", f="D", psi="D"` is symmetric and a Lagrange-d'Alembert integrator, too.
    - `psi="C"`, `"C*"` with IIIA-IIIB, and `y="C", f="C*", psi="C"`, are Lagrange-d'Alembert
        integrators, but not symmetric. With IIIC and IIIC* for `y` and `f`, in either order, no
        step can be made in which an oscillation of frequency `omega` has `omega h = sqrt(2)`
        (for `s = 2`; 2.69 for `s = 3`, 4.01 for `s = 4`): keep well below. The same holds for
        IIIC* and IIID, at 2.0, 3.72, 5.48; `tableau.resonances` tells.
    - `y="C", f="C", psi="C"` is stiffly accurate, as Radau IIA is, and has none of these
        properties.

    The last velocity is not one of the stages, and multiplies the mass matrix alone: this
    must be regular. A step costs about as much as one of the Gauss method with as many stages,
    whose order is higher by two; what Lobatto methods have is stages at both ends of a step.

    **Arguments:**

    - `stages`: the number of stages `s`, from 2 to 8.
    - `y`, `f`, `psi`: the families, `"A"`, `"B"`, `"C"`, `"C*"` or `"D"`; `psi` not `"A"`, and `y`
        not `"B"` with two stages. `tableau.symmetric`, `tableau.lagrange_dalembert` and
        `tableau.R_infinity` tell the properties of the method.

    **Raises:** `ValueError` if `stages` is out of range, there is no such family, or they do
    not make a method; `TypeError` if `stages` is not an integer.

    ??? cite "Reference"
        L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian systems*,
        section 7; for holonomic constraints *Symplectic partitioned Runge-Kutta methods for
        constrained Hamiltonian systems*, SIAM J. Numer. Anal. 33 (1996).
    """

    tableau: SparkTableau = eqx.field(static=True, repr=False)
    y: str = eqx.field(static=True)
    f: str = eqx.field(static=True)
    psi: str = eqx.field(static=True)

    def __init__(self, stages: int = 2, y: str = "A", f: str = "B", psi: str = "B"):
        _check_stages(stages, fewest=2)
        for name, family in (("y", y), ("f", f), ("psi", psi)):
            if family not in FAMILIES:
                raise ValueError(f"{name} must be one of {', '.join(FAMILIES)}; got {family!r}.")
        if psi == "A":
            raise ValueError(
                "psi cannot be weighed by IIIA, whose first stage is the start of the step, so "
                "that the conditions on the nonholonomic constraints do not determine their "
                "multipliers (N [A_psi; b_psi] is singular). Take B, C, C* or D."
            )
        if y == "B" and stages == 2:
            raise ValueError(
                "IIIB cannot advance the coordinates with two stages, since these are then "
                "not at the times c. Take three stages or more, or another family."
            )
        self.y, self.f, self.psi = y, f, psi
        self.tableau = lobatto_spark(stages, y, f, psi)

    def __repr__(self) -> str:
        families = f", y={self.y!r}, f={self.f!r}, psi={self.psi!r}"
        usual = (self.y, self.f, self.psi) == ("A", "B", "B")
        return f"Lobatto(stages={self.stages}{'' if usual else families})"


class SparkMethod(AbstractSparkMethod):
    """A SPARK method with coefficients of your own.

    **Arguments:**

    - `tableau`: a [`jaxspark.methods.SparkTableau`][], which has checked its assumptions. Make it
        once: tableaux are compared by identity, and each new one compiles anew.

    **Raises:** `TypeError` if `tableau` is not a [`jaxspark.methods.SparkTableau`][].
    """

    tableau: SparkTableau = eqx.field(static=True, repr=False)

    def __init__(self, tableau: SparkTableau):
        if not isinstance(tableau, SparkTableau):
            raise TypeError(f"tableau must be a jaxspark.methods.SparkTableau; got {tableau!r}.")
        self.tableau = tableau

    def __repr__(self) -> str:
        return f"SparkMethod({self.tableau.name}, stages={self.stages})"
