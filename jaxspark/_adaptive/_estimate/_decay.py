"""How fast the coefficients of a motion decay, and whether they do so as a smooth motion's."""

import math

import jax.numpy as jnp
import numpy as np
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


def double_factorials(top: int, count: int) -> Float[np.ndarray, " {count}"]:
    """`(2k - 1)!!` of the highest `count` degrees, up to `k = top`."""
    return np.array([double_factorial(k) for k in range(top + 1 - count, top + 1)], float)


def decay_rate(squares: Float[Array, " n"], top: int) -> FloatScalar:
    r"""The rate `zeta` of a smooth motion.

    Of `exp(i omega t)` the coefficients are `(2k - 1)!! |a_k| = b_k = A zeta^k`, times `|cos|` and
    `|sin|` of the phase in turn, `zeta = omega h / 2`. So `X = zeta^2` is the positive root of

        b_{q-3}^2 X^3 + b_{q-2}^2 X^2 = b_{q-1}^2 X + b_q^2,

    of which there is one (Descartes), in every phase. It is found by `X <- sqrt((b_{q-1}^2 X +
    b_q^2) / (b_{q-3}^2 X + b_{q-2}^2))`, whose logarithm has a slope of at most 1/2. With three
    coefficients it is `b_0^2 X^2 = 0.3 b_1^2 X + b_2^2`: the weight keeps the estimate of an
    oscillation between half and two and a half times the right one, once its amplitude is known.

    **Arguments:**

    - `squares`: `b_k^2` up to `k = top`, at most four of them.

    **Returns:** `zeta`, at most `L_top`.
    """
    bound = limit(top) ** 2
    if len(squares) == 1:
        return jnp.zeros_like(squares[0])
    total = jnp.maximum(jnp.max(squares), jnp.finfo(squares.dtype).tiny)
    parts = list(squares / total)
    if len(parts) == 2:
        return jnp.sqrt(jnp.clip(_ratio(parts[1], parts[0], 0.0), 0, bound))
    if len(parts) == 3:
        parts = [jnp.zeros_like(total), parts[0], MIDDLE * parts[1], parts[2]]
    b0, b1, b2, b3 = parts
    x = jnp.ones_like(total)
    for _ in range(TRIPS):
        x = jnp.clip(jnp.sqrt(_ratio(b2 * x + b3, b0 * x + b1, bound**2)), 0, bound)
    return jnp.sqrt(x)


def rates_between(
    sizes: Float[Array, " n"],
    beyond: tuple[FloatScalar, FloatScalar] | None,
    rate: FloatScalar,
    remembered: Float[Array, " n"],
    usual: Float[Array, " n"],
    top: int,
) -> Float[Array, " m"]:
    r"""The rates that coefficients two degrees apart tell, `L_k sqrt(|a_k| / |a_{k-2}|)`.

    Those are

        zeta_2 = L_{q-1} sqrt(|a_{q-1}| / |a_{q-3}|),
        zeta_1 = L_q     sqrt(|a_q| / |a_{q-2}|),
        zeta_3 = L_{q+1} sqrt((q+1)/(2q+1) |odd| / |a_{q-1}|),
        zeta_4 = L_{q+1} sqrt(|a_{q+1}| / |a_{q-1}|).

    In the last one `|a_{q-1}|` is that of the steps before, for that of this step is larger, too,
    where there is a kink. In the others each divisor is the root of the sum of the squares of
    `|a_{k-2}|`, of 0.3 times what it would be in another phase, and of what steps before let
    expect.

    **Arguments:**

    - `sizes`: `|a_k|` up to `k = top`.
    - `beyond`: `|odd|` and `|a_{q+1}|` by changes since the last step, if `top` is `q`.
    - `rate`: that of the step.
    - `remembered`, `usual`: `b_k^2` as steps before let expect it, where this may be trusted, and
        anywhere; of the same degrees.

    **Returns:** `zeta_2, zeta_1` of four coefficients, of fewer the rate of the step; then
    `zeta_3, zeta_4`, if they are known.
    """
    n = len(sizes)
    known, degrees = [], []
    zero = jnp.zeros_like(rate)
    if n == 4:
        a0, a1, a2, a3 = sizes
        steep = jnp.maximum(rate / limit(top), 1e-3)
        known = [
            (a2, a0, (a1 / steep) ** 2, remembered[0]),
            (a3, a1, a2 * a0, remembered[1]),
        ]
        degrees = [top - 1, top]
    if beyond is not None and n >= 3:
        odd, following = beyond
        part = (top + 1) / (2 * top + 1)
        known += [
            (part * odd, sizes[-2], sizes[-1] * sizes[-3], remembered[-2]),
            (following, zero, zero, usual[-2]),
        ]
        degrees += [top + 1, top + 1]
    first = [] if n == 4 else [rate[None]]
    if not known:
        return first[0]
    size, two_below, envelope, memory = (jnp.stack(x) for x in zip(*known, strict=True))
    limits = np.array([limit(k) for k in degrees])
    scale = np.array([float(double_factorial(k - 2)) ** 2 for k in degrees])
    below = jnp.sqrt(two_below**2 + PHASE**2 * envelope + memory / scale.astype(size.dtype))
    rates = limits.astype(size.dtype) * jnp.sqrt(jnp.minimum(_ratio(size, below, 1.0), 1))
    return jnp.concatenate([*first, rates])


def growth(
    rates: Float[Array, " m"], usual: Float[Array, " m"] | FloatScalar
) -> Float[Array, " m"]:
    """By how much rates exceed what is expected of a smooth motion; at least 1."""
    # Rates below this are those of rounding errors.
    least = float(jnp.finfo(rates.dtype).eps) ** (1 / 3)
    usual = DEADBAND * jnp.maximum(usual, least)
    return jnp.clip(_ratio(rates, usual, LARGEST), 1, LARGEST)


def largest_growth(
    rates: Float[Array, " m"],
    four: bool,
    rate: FloatScalar,
    expected: FloatScalar,
    known: BoolScalar,
) -> Float[Array, "3"]:
    r"""How much faster than smooth motions' the rates grow: of degrees like `q`, unlike, and ahead.

    They are compared with the rate of the last step, and with that of one degree lower. The
    coefficients of a jump of size `J` at `xi` are `J (P_{k-1} - P_{k+1})(xi) / 2`, which decay as
    `k^{-1/2}`, those of a kink as `k^{-3/2}`: their rates grow with the degree.

    **Arguments:**

    - `rates`: from `rates_between`.
    - `four`: whether these are of four coefficients.
    - `rate`, `expected`: the rate of this step, and of the last one in units of this one.
    - `known`: whether there was a last step.

    **Returns:** the growth of `zeta_1`, `zeta_3` and `zeta_4`, of `zeta_2`, and of `zeta_4`; with
    fewer coefficients the rate itself stands for `zeta_1` and `zeta_2`. The last is 1 if `zeta_4`
    is not known.
    """
    if not four:
        grown = growth(rates, jnp.where(known, expected, rate))
        ahead = grown[2] if len(rates) > 1 else jnp.ones_like(rate)
        return jnp.stack([jnp.max(grown), grown[0], ahead])
    second = rates[0]
    before = jnp.where(known, expected, second)
    like = jnp.maximum(before, second)
    last = jnp.where(known, expected, rate)
    usual = jnp.stack([before, like, like, last])[: len(rates)]
    grown = growth(rates, usual)
    ahead = grown[3] if len(rates) > 2 else jnp.ones_like(rate)
    return jnp.stack([jnp.max(grown[1:]), grown[0], ahead])


def extrapolated(
    rate: FloatScalar, growths: Float[Array, "3"], top: int, degrees: int
) -> Float[Array, "3"]:
    """The factors from `b_top` to `b_{top + m}`, of the second growth to one degree more.

    For rates that go on growing they are `L_top^m min(1, r (1 + (2.5 r)^3) g^((m + 3) / 2))^m`,
    with `m` degrees and the geometric decay `r = zeta / L_top`: without any decay, those of
    coefficients of equal size.
    """
    bound = limit(top)
    one_more = np.array([False, True, False])
    r = rate / bound
    roots = jnp.sqrt(growths)
    grown = roots ** (degrees + 3) * jnp.where(one_more, roots, 1)
    decayed = bound * jnp.minimum(r * (1 + (STEEP * r) ** 3) * grown, 1)
    return decayed**degrees * jnp.where(one_more, decayed, 1)


def _ratio(a: Float[Array, "*m"], b: Float[Array, "..."], otherwise: float) -> Float[Array, "*m"]:
    """`a / b`; where `b` is 0, `otherwise` unless `a` is 0, too."""
    positive = b > 0
    least = jnp.where(a > 0, jnp.asarray(otherwise, a.dtype), 0)
    return jnp.where(positive, a / jnp.where(positive, b, 1), least)
