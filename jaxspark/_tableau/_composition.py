"""Symmetric compositions: methods of high order from steps of one of low order."""

from typing import TypeAlias

import equinox as eqx
import numpy as np

from ._methods import AbstractSparkMethod
from ._spark import SparkTableau


# The first half of the fractions of a step, and the one in the middle, by order. Those of
# order 4 are in closed form.
_ORDER_4 = 1 / (4 - np.longdouble(4) ** (np.longdouble(1) / 3))
_HALVES: dict[int, tuple[str, ...]] = {
    6: (
        "0.39216144400731413927925056",
        "0.33259913678935943859974864",
        "-0.70624617255763935980996482",
        "0.08221359629355080023149045",
    ),
    8: (
        "0.13020248308889008087881763",
        "0.56116298177510838456196441",
        "-0.38947496264484728640807860",
        "0.15884190655515560089621075",
        "-0.39590389413323757733623154",
        "0.18453964097831570709183254",
        "0.25837438768632204729397911",
        "0.29501172360931029887096624",
    ),
    10: (
        "0.07879572252168641926390768",
        "0.31309610341510852776481247",
        "0.02791838323507806610952027",
        "-0.22959284159390709415121340",
        "0.13096206107716486317465686",
        "-0.26973340565451071434460973",
        "0.07497334315589143566613711",
        "0.11199342399981020488957508",
        "0.36613344954622675119314812",
        "-0.39910563013603589787862981",
        "0.10308739852747107731580277",
        "0.41143087395589023782070412",
        "-0.00486636058313526176219566",
        "-0.39203335370863990644808194",
        "0.05194250296244964703718290",
        "0.05066509075992449633587434",
        "0.04967437063972987905456880",
    ),
}


def composition_fractions(order: int) -> tuple[float, ...]:
    """The fractions of a step that its parts make, for a symmetric method of order 2.

    Of order 4 with 5 parts (Suzuki), 6 with 9 and 8 with 17 (Kahan and Li), 10 with 35
    (Sofroniou and Spaletta). They add up to 1 and read backward as they do forward.

    **Raises:** `ValueError` for other orders.

    Source: M. Suzuki, *Fractal decomposition of exponential operators*, Phys. Lett. A 146 (1990);
    W. Kahan & R.-C. Li, *Composition constants for raising the orders of unconventional schemes
    for ordinary differential equations*, Math. Comp. 66 (1997); M. Sofroniou & G. Spaletta,
    *Derivation of symmetric composition constants for symmetric integrators*, Optim. Methods
    Softw. 20 (2005). All are in E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical
    Integration*, 2nd edition, section V.3.2. The tests verify the order conditions.
    """
    if order == 4:
        half = [_ORDER_4, _ORDER_4]
    elif order in _HALVES:
        half = [np.longdouble(digits) for digits in _HALVES[order]]
    else:
        raise ValueError(f"order must be 4, 6, 8 or 10; got {order!r}.")
    middle = 1 - 2 * sum(half)
    return tuple(float(x) for x in (*half, middle, *half[::-1]))


class Composition(eqx.Module):
    """A method of higher order: steps of a symmetric one, some of them backward.

        jaxspark.solve(..., method=jaxspark.Composition(jaxspark.Lobatto(2), 8))

    It is symmetric and, if the method is, symplectic; constraints hold after every part. With
    `Lobatto(2)`, which is RATTLE, each part of a step solves for multipliers only, if the mass
    matrix is constant and forces do not depend on velocities: this is the fastest way to solve
    small problems. Parts go backward in time by up to 0.7 of the step: it is not for strong
    damping.

    It is for [`jaxspark.solve`][] with steps of known sizes, and for [`jaxspark.step`][].

    **Arguments:**

    - `method`: a symmetric SPARK method, of lower order.
    - `order`: 4, 6, 8 or 10, by 5, 9, 17 or 35 steps of the method.

    **Raises:** `ValueError` if the method is not symmetric or not of lower order, or there is no
    composition of that order; `TypeError` if it is not a SPARK method.

    ??? cite "Reference"
        E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, 2nd edition,
        section V.3.2; R. McLachlan, *On the numerical integration of ordinary differential
        equations by symmetric composition methods*, SIAM J. Sci. Comput. 16 (1995).
    """

    method: AbstractSparkMethod
    order: int = eqx.field(static=True)
    parts: tuple[float, ...] = eqx.field(static=True, repr=False)

    def __init__(self, method: AbstractSparkMethod, order: int):
        if not isinstance(method, AbstractSparkMethod):
            raise TypeError(f"method must be a SPARK method such as Lobatto(2); got {method!r}.")
        if not method.tableau.symmetric:
            raise ValueError(f"Only symmetric methods can be composed; {method!r} is not.")
        self.parts = composition_fractions(order)
        if method.order >= order:
            raise ValueError(
                f"{method!r} is of order {method.order} already: a composition of order {order} "
                "gains nothing."
            )
        self.method, self.order = method, order

    @property
    def tableau(self) -> SparkTableau:
        """The tableau of the method whose steps are composed."""
        return self.method.tableau

    @property
    def stages(self) -> int:
        """The number of internal stages of each part."""
        return self.method.stages

    def __repr__(self) -> str:
        return f"Composition({self.method!r}, order={self.order})"


RolloutMethod: TypeAlias = AbstractSparkMethod | Composition
