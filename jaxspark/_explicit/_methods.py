"""The explicit methods that are there by name."""

import functools

from ._dop853 import dop853_estimate
from ._method import ExplicitMethod
from ._tables import (
    BOSH3_A,
    BOSH3_B,
    BOSH3_ERROR,
    DOP853_A,
    DOP853_B,
    DOPRI5_A,
    DOPRI5_B,
    DOPRI5_ERROR,
    DOPRI8_A,
    DOPRI8_B,
    DOPRI8_ERROR,
    TSIT5_A,
    TSIT5_B,
    TSIT5_ERROR,
)


@functools.cache
def DOP853() -> ExplicitMethod:
    r"""The method of order 8 by Dormand and Prince, in the form of Hairer, Norsett and Wanner.

    It has twelve stages. The error of a step is estimated from the embedded estimates `e_5`, of
    order 5, and `e_3`, of order 3,

        3 e_5 x min(9, 1 + 45 x^3),    x = |e_5| / sqrt(|e_5|^2 + 0.01 |e_3|^2),

    which for smooth motions is of order 8 as the error is. The sizes are measured in units of
    `1 + |y|`. The source has neither the factor 3, which is there because the errors of many steps
    add up, nor the last factor. Where the force jumps inside the step, `x` is between 0.5 and 1,
    and the error is up to 26 times `e_5 x`, most where the jump is between the nodes 0.118 and
    0.25.

    **Returns:** a [`jaxspark.methods.ExplicitMethod`][].

    Source: E. Hairer, S. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, 2nd
    edition, II.5 and II.10 (10.17).
    """
    return ExplicitMethod("DOP853", 8, DOP853_A, DOP853_B, dop853_estimate)


@functools.cache
def Dopri8() -> ExplicitMethod:
    """The method of order 8 by Prince and Dormand, with thirteen stages.

    **Returns:** a [`jaxspark.methods.ExplicitMethod`][].

    Source: P. J. Prince & J. R. Dormand, *High order embedded Runge-Kutta formulae*, Journal of
    Computational and Applied Mathematics 7 (1981), RK8(7)13M.
    """
    return ExplicitMethod("Dopri8", 8, DOPRI8_A, DOPRI8_B, DOPRI8_ERROR)


@functools.cache
def Tsit5() -> ExplicitMethod:
    """The method of order 5 by Tsitouras, with seven stages.

    **Returns:** a [`jaxspark.methods.ExplicitMethod`][].

    Source: Ch. Tsitouras, *Runge-Kutta pairs of order 5(4) satisfying only the first column
    simplifying assumption*, Computers & Mathematics with Applications 62 (2011).
    """
    return ExplicitMethod("Tsit5", 5, TSIT5_A, TSIT5_B, TSIT5_ERROR)


@functools.cache
def Dopri5() -> ExplicitMethod:
    """The method of order 5 by Dormand and Prince, with seven stages.

    **Returns:** a [`jaxspark.methods.ExplicitMethod`][].

    Source: J. R. Dormand & P. J. Prince, *A family of embedded Runge-Kutta formulae*, Journal of
    Computational and Applied Mathematics 6 (1980).
    """
    return ExplicitMethod("Dopri5", 5, DOPRI5_A, DOPRI5_B, DOPRI5_ERROR)


@functools.cache
def Bosh3() -> ExplicitMethod:
    """The method of order 3 by Bogacki and Shampine, with four stages.

    **Returns:** a [`jaxspark.methods.ExplicitMethod`][].

    Source: P. Bogacki & L. F. Shampine, *A 3(2) pair of Runge-Kutta formulas*, Applied Mathematics
    Letters 2 (1989).
    """
    return ExplicitMethod("Bosh3", 3, BOSH3_A, BOSH3_B, BOSH3_ERROR)
