"""How fast the coefficients of a motion decay, and whether they do so as a smooth motion's."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._custom_types import BoolScalar, FloatScalar
from ._expansion import double_factorial


# Trips of the iteration for the rate; each halves the logarithm of its error at least.
TRIPS = 10
# Of three coefficients the middle one counts less: the one below, which would balance it where the
# lowest vanishes, is not known.
MIDDLE = 0.3
# Coefficients this far below their envelope tell no rates: an oscillation is at a zero of theirs.
PHASE = 0.3
# Rates that grow by more than this from degree to degree or step to step go on growing. Chosen by
# `python -m benchmarks figures audit`: with 3 more kinks hide.
DEADBAND = 2.0
# No rate grows by more than this.
LARGEST = 1e3
# Coefficients that decay by less than this per degree are not those of a smooth motion.
STEEP = 2.5


def limit(degree: int) -> float:
    """`L_k = sqrt((2k - 1)(2k - 3))`: at this rate, `a_k` is as large as `a_{k-2}`."""
    return math.sqrt(max(1, (2 * degree - 1) * (2 * degree - 3)))


def scaled_squares(sizes: Sequence[FloatScalar], top: int) -> list[FloatScalar]:
    """`((2k - 1)!! |a_k|)^2`, up to `k = top`."""
    lowest = top + 1 - len(sizes)
    return [(double_factorial(lowest + i) * x) ** 2 for i, x in enumerate(sizes)]


def decay_rate(squares: Sequence[FloatScalar], top: int) -> FloatScalar:
    r"""The rate `zeta` of a smooth motion.

    Of `exp(i omega t)` the coefficients are `(2k - 1)!! |a_k| = b_k = A zeta^k`, times `|cos|` and
    `|sin|` of the phase in turn, `zeta = omega h / 2`. So `X = zeta^2` is the positive root of

        b_{q-3}^2 X^3 + b_{q-2}^2 X^2 = b_{q-1}^2 X + b_q^2,

    of which there is one (Descartes), in every phase. It is found by `X <- sqrt((b_{q-1}^2 X +
    b_q^2) / (b_{q-3}^2 X + b_{q-2}^2))`, whose logarithm has a slope of at most 1/2. With three
    coefficients it is `b_0^2 X^2 = 0.3 b_1^2 X + b_2^2`: the weight keeps the estimate of an
    oscillation between half and two and a half times the right one, once its amplitude is known.

    **Arguments:**

    - `squares`: `b_k^2` up to `k = top`, at most four.

    **Returns:** `zeta`, at most `L_top`.
    """
    bound = limit(top) ** 2
    if len(squares) == 1:
        return jnp.zeros_like(squares[0])
    total = jnp.maximum(jnp.max(jnp.stack(squares)), jnp.finfo(squares[0].dtype).tiny)
    parts = [x / total for x in squares]
    if len(parts) == 2:
        return jnp.sqrt(jnp.clip(_ratio(parts[1], parts[0], 0.0), 0, bound))
    if len(parts) == 3:
        parts = [jnp.zeros_like(total), parts[0], MIDDLE * parts[1], parts[2]]
    b0, b1, b2, b3 = parts
    x = jnp.ones_like(total)
    for _ in range(TRIPS):
        x = jnp.clip(jnp.sqrt(_ratio(b2 * x + b3, b0 * x + b1, bound**2)), 0, bound)
    return jnp.sqrt(x)


def rate_between(
    size: FloatScalar,
    two_below: FloatScalar,
    envelope: FloatScalar,
    remembered: FloatScalar,
    degree: int,
) -> FloatScalar:
    """The rate that coefficients two degrees apart tell, `L_k sqrt(|a_k| / |a_{k-2}|)`.

    **Arguments:**

    - `size`, `two_below`: `|a_k|` and `|a_{k-2}|`, `k = degree`.
    - `envelope`: the square of what `|a_{k-2}|` would be in another phase.
    - `remembered`: `b_{k-2}^2` as steps before let expect it.
    """
    of_memory = remembered / double_factorial(degree - 2) ** 2
    below = jnp.sqrt(two_below**2 + PHASE**2 * envelope + of_memory)
    return limit(degree) * jnp.sqrt(jnp.minimum(_ratio(size, below, 1.0), 1))


def following_rate(following: FloatScalar, usual: Sequence[FloatScalar], top: int) -> FloatScalar:
    """The rate that `|a_{q+1}|` tells by changes since the last step, next to what was before.

    Next to `|a_{q-1}|` of this step it would tell less: that, too, is larger where there is a kink.

    **Arguments:**

    - `following`: `|a_{q+1}|`.
    - `usual`: `b_k^2` as the steps before let expect it, up to `q`.
    - `top`: `q`.

    **Returns:** `zeta_4` of `largest_growth`.
    """
    below = jnp.sqrt(usual[-2]) / double_factorial(top - 1)
    return limit(top + 1) * jnp.sqrt(jnp.minimum(_ratio(following, below, 1.0), 1))


def growth(rate: FloatScalar, expected: FloatScalar) -> FloatScalar:
    """By how much a rate exceeds what is expected of a smooth motion; at least 1."""
    # Rates below this are those of rounding errors.
    least = float(jnp.finfo(rate.dtype).eps) ** (1 / 3)
    usual = DEADBAND * jnp.maximum(expected, least)
    return jnp.clip(_ratio(rate, usual, LARGEST), 1, LARGEST)


def extrapolated(rate: FloatScalar, growth: FloatScalar, top: int, degrees: int) -> FloatScalar:
    """The factor from `b_top` to `b_{top + degrees}`, for rates that go on growing.

    `L_top^m min(1, r (1 + (2.5 r)^3) g^((m + 3) / 2))^m`, with `m` degrees and the geometric decay
    `r = zeta / L_top`: without any decay, the factor of coefficients of equal size.
    """
    if degrees <= 0:
        return jnp.ones_like(rate)
    r = rate / limit(top)
    r = r * (1 + (STEEP * r) ** 3) * growth ** ((degrees + 3) / 2)
    return (limit(top) * jnp.minimum(r, 1)) ** degrees


def largest_growth(
    sizes: Sequence[FloatScalar],
    odd: FloatScalar | None,
    ahead: FloatScalar,
    rate: FloatScalar,
    expected: FloatScalar,
    remembered: Sequence[FloatScalar],
    known: BoolScalar,
    top: int,
) -> tuple[FloatScalar, FloatScalar, FloatScalar]:
    r"""How much faster than smooth motions' the rates grow: of degrees like `q`, unlike, and ahead.

    Compared with the rate of the last step, and with that of one degree lower, are

        zeta_1 = L_q     sqrt(|a_q| / |a_{q-2}|),
        zeta_2 = L_{q-1} sqrt(|a_{q-1}| / |a_{q-3}|),
        zeta_3 = L_{q+1} sqrt((q+1)/(2q+1) |odd| / |a_{q-1}|),
        zeta_4 = L_{q+1} sqrt(|a_{q+1}| / |a_{q-1}|), the latter of the steps before.

    The coefficients of a jump of size `J` at `xi` are `J (P_{k-1} - P_{k+1})(xi) / 2`, which decay
    as `k^{-1/2}`, those of a kink as `k^{-3/2}`: their rates grow with the degree.

    **Arguments:**

    - `sizes`: `|a_k|` up to `k = q`.
    - `odd`: the size of what the defects do not have in common, if `top` is `q`.
    - `ahead`: `zeta_4`; 0 if it is not known.
    - `rate`, `expected`: the rate of this step, and of the last one in units of this one.
    - `remembered`: `b_k^2` as steps before let expect it, of the same degrees.
    - `known`: whether there was a last step.

    **Returns:** the growth of `zeta_1`, `zeta_3` and `zeta_4`, of `zeta_2`, and of `zeta_4`.
    """
    if len(sizes) == 4:
        a0, a1, a2, a3 = sizes
        steep = jnp.maximum(rate / limit(top), 1e-3)
        second = rate_between(a2, a0, (a1 / steep) ** 2, remembered[0], top - 1)
        first = rate_between(a3, a1, a2 * a0, remembered[1], top)
        usual = jnp.where(known, jnp.maximum(second, expected), second)
        like = growth(first, usual)
        unlike = growth(second, jnp.where(known, expected, second))
    else:
        usual = jnp.where(known, expected, rate)
        like = unlike = growth(rate, usual)
    hidden = growth(ahead, jnp.where(known, expected, rate))
    if odd is not None and len(sizes) >= 3:
        beside = (top + 1) / (2 * top + 1) * odd
        higher = rate_between(beside, sizes[-2], sizes[-1] * sizes[-3], remembered[-2], top + 1)
        like = jnp.maximum(like, jnp.maximum(growth(higher, usual), hidden))
    return like, unlike, hidden


def _ratio(a: FloatScalar, b: FloatScalar, otherwise: float) -> Float[Array, ""]:
    """`a / b`; where `b` is 0, `otherwise` unless `a` is 0, too."""
    positive = b > 0
    least = jnp.where(a > 0, jnp.asarray(otherwise, a.dtype), 0)
    return jnp.where(positive, a / jnp.where(positive, b, 1), least)
