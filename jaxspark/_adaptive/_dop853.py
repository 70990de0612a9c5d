"""The explicit Runge-Kutta method DOP853 as a solver of diffrax."""

from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate
from jaxtyping import Array, Float

from .._explicit import quotient
from .._implicit import stop_gradient


_OF_SCIPY = scipy.integrate.DOP853
_STAGES = _OF_SCIPY.n_stages
# The error estimate of order 3, with which the usual one of order 5 is compared.
_OF_THIRD = np.asarray(_OF_SCIPY.E3)[:_STAGES]


def _tableau() -> diffrax.ButcherTableau:
    """Its coefficients, those of SciPy: twelve stages, and an error estimate of order 5."""
    A = np.asarray(_OF_SCIPY.A)
    return diffrax.ButcherTableau(
        c=np.asarray(_OF_SCIPY.C)[1:_STAGES],
        b_sol=np.asarray(_OF_SCIPY.B),
        b_error=np.asarray(_OF_SCIPY.E5)[:_STAGES],
        a_lower=tuple(A[i, :i] for i in range(1, _STAGES)),
    )


class DOP853(diffrax.AbstractERK):
    r"""The method of order 8 by Dormand and Prince, as Hairer, Norsett and Wanner have it.

    For [`jaxspark.Projected`][]. Of explicit methods the cheapest for large systems whose fastest
    motions are oscillations, such as waves along a chain: there the size of its steps is bounded
    by stability, and it needs three fifths of the evaluations of `diffrax.Dopri8`.

    The error of a step is estimated from the embedded estimates `e_5`, of order 5, and `e_3`, of
    order 3,

        3 e_5 x min(9, 1 + 45 x^3),    x = |e_5| / sqrt(|e_5|^2 + 0.01 |e_3|^2),

    which for smooth motions is of order 8 as the error is. The sizes are measured in units of
    `1 + |y|`. The source has neither the factor 3, for errors of many steps add up, nor the last
    one. Where the force jumps inside the step, `x` is between 0.5 and 1, and the error up to 26
    times `e_5 x`, most where the jump is between the nodes 0.118 and 0.25.

    ??? cite "Reference"
        E. Hairer, S. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, 2nd
        edition, section II.5 and II.10, equation (10.17).
    """

    tableau: ClassVar[diffrax.ButcherTableau] = _tableau()
    interpolation_cls: ClassVar[Any] = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: Any) -> int:
        """8."""
        del terms
        return 8

    def error_order(self, terms: Any) -> int:
        """8, that of the quotient."""
        del terms
        return 8

    def step(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        args: Any,
        solver_state: Any,
        made_jump: Any,
    ) -> Any:
        """A step, with the estimate of its error that both embedded ones make together."""
        y1, fifth, inside, state, result = super().step(
            terms, t0, t1, y0, args, solver_state, made_jump
        )
        frozen = stop_gradient((y0, y1, fifth, inside["k"]))
        return y1, _quotient(*frozen), inside, state, result


def _quotient(y0: Any, y1: Any, fifth: Any, k: Any) -> Any:
    """The estimate of order 8; `k` are the increments of all stages."""
    third = jax.tree.map(_third, k)
    pairs = zip(*(jax.tree.leaves(x) for x in (y0, y1, fifth, third)), strict=True)
    of_fifth = of_third = jnp.zeros(())
    for a, b, five, three in pairs:
        unit = 1 + jnp.maximum(jnp.abs(a), jnp.abs(b))
        of_fifth = of_fifth + jnp.sum((five / unit) ** 2)
        of_third = of_third + jnp.sum((three / unit) ** 2)
    factor = quotient(of_fifth, of_third)
    return jax.tree.map(lambda e: (factor * e).astype(e.dtype), fifth)


def _third(k: Float[Array, " *sd"]) -> Float[Array, " *d"]:
    weights = jnp.asarray(_OF_THIRD, k.dtype).reshape(-1, *[1] * (k.ndim - 1))
    return jnp.sum(weights * k, 0)
