"""The explicit Runge-Kutta method DOP853 as a solver of diffrax."""

from typing import Any, ClassVar

import diffrax
import numpy as np
import scipy.integrate


def _tableau() -> diffrax.ButcherTableau:
    """Its coefficients, those of SciPy: twelve stages, and an error estimate of order 5."""
    method = scipy.integrate.DOP853
    stages = method.n_stages
    A = np.asarray(method.A)
    return diffrax.ButcherTableau(
        c=np.asarray(method.C)[1:stages],
        b_sol=np.asarray(method.B),
        b_error=np.asarray(method.E5)[:stages],
        a_lower=tuple(A[i, :i] for i in range(1, stages)),
    )


class DOP853(diffrax.AbstractERK):
    """The method of order 8 by Dormand and Prince, as Hairer, Norsett and Wanner have it.

    For [`jaxspark.Projected`][]. Of explicit methods the cheapest for large systems whose fastest
    motions are oscillations, such as waves along a chain: there the size of its steps is bounded
    by stability, and it needs three fifths of the evaluations of `diffrax.Dopri8`.

    ??? cite "Reference"
        E. Hairer, S. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, 2nd
        edition, section II.5 and II.10.
    """

    tableau: ClassVar[diffrax.ButcherTableau] = _tableau()
    interpolation_cls: ClassVar[Any] = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: Any) -> int:
        """8."""
        del terms
        return 8
