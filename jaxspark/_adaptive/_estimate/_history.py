"""What the estimate of a step's error remembers of the step before, and expects of the next."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._custom_types import FloatScalar
from ._expansion import double_factorial, Expansion


# By how much the square of a motion's amplitude falls at most, for each unit of the rate.
FADING = 2.0
# Squares of coefficients may exceed what is expected of them by this.
SLACK = 1.2
# From steps that differ by more than this, coefficients tell no change.
LARGEST_RATIO = 3.0


class History(eqx.Module):
    """What the estimate remembers of the step before.

    - `power`: the square of `b_k` of the lowest degree, in any phase.
    - `rate`: that of the decay of the coefficients, per time.
    - `highest`: `h a_{q-1}`, with all its parts, and `h a_q`.
    - `h`: the step size; 0 before the first step.
    """

    power: FloatScalar
    rate: FloatScalar
    highest: Float[Array, "2 nz"]
    h: FloatScalar


def no_history(z: Float[Array, " nz"]) -> History:
    """The history before the first step."""
    zero = jnp.zeros((), z.dtype)
    return History(zero, zero, jnp.zeros((2, z.size), z.dtype), zero)


def continued(known: Expansion, h: FloatScalar, history: History) -> Float[Array, " nz"]:
    r"""`h a_{q-1}` of the polynomial of the step before, with `h a_q`, continued to this step.

    In the variable of this step that of the step before is `1 + rho + rho x`, `rho` the ratio of
    both sizes: of `P_q` there the coefficient of `P_{q-1}(x)` is `(2q - 1)(1 + rho) rho^{q-1}`.
    A ratio beyond `LARGEST_RATIO` is cut there: `changes` does not compare such steps.
    """
    q, ratio = known.degree, _ratio_of_steps(h, history)
    ratio = jnp.clip(ratio, -LARGEST_RATIO, LARGEST_RATIO)
    last, highest = history.highest
    return ratio**q * (last + (2 * q - 1) * (1 + ratio) * highest)


def changes(
    known: Expansion,
    even: Float[Array, " nz"],
    unlike_before: Float[Array, " nz"],
    h: FloatScalar,
    history: History,
) -> Float[Array, "2 nz"]:
    r"""`h a_{q+1}` of a smooth motion, by two changes since the last step; 0 if that is unlike.

    `b_{q+1} = h/2 d b_q / dt`, with `b_q` proportional to `h^{q+1}`. And of `P_{q+1}(1 + rho +
    rho x)` the coefficient of `P_{q-1}(x)` is `(4 q^2 - 1)/2 rho^{q-1} ((1 + rho)^2 + (rho^2 - 1) /
    (2q + 1))`: by so much of `a_{q+1}` differs `a_{q-1}` from what the step before lets expect. A
    kink in the middle of a step, of whose coefficients every other one vanishes, is seen by one of
    both.
    """
    q, ratio = known.degree, _ratio_of_steps(h, history)
    alike = (history.h != 0) & (jnp.abs(ratio) <= LARGEST_RATIO)
    first = even - ratio ** (q + 1) * history.highest[1]
    first = first * ratio / (1 + ratio) / (2 * q + 1)
    square = (1 + ratio) ** 2 + (ratio**2 - 1) / (2 * q + 1)
    second = unlike_before * 2 * ratio**2 / ((4 * q**2 - 1) * square)
    return jnp.where(alike, jnp.stack([first, second]), 0)


def _ratio_of_steps(h: FloatScalar, history: History) -> FloatScalar:
    return h / jnp.where(history.h == 0, 1, history.h)


def remembered_squares(
    lowest: int, count: int, expected: FloatScalar, h: FloatScalar, history: History
) -> Float[Array, " {count}"]:
    """`b_k^2` from the degree `lowest` on, as the steps before let expect them at least.

    With the power and the rate of the last step, in units of this one, `P zeta^{2 (k - lowest)}`,
    less by `exp(-2 zeta)`: motions that fade, as after a close encounter, fade slower.
    """
    ratio = _ratio_of_steps(h, history)
    first = history.power * jnp.exp(-FADING * expected) * ratio ** (2 * (lowest + 1))
    return first * jnp.stack([expected ** (2 * i) for i in range(count)])


def trusted(
    remembered: Float[Array, "4"],
    squares: Float[Array, "4"],
    odd: FloatScalar | None,
    expected: FloatScalar,
    top: int,
) -> Float[Array, "4"]:
    """What is remembered, or zeros: in doubt this is no turning point but a kink.

    At a turning point the highest coefficients are as large as ever, and `odd`, which is no more
    than `(2q + 1)/(q + 1) |a_{q+1}|` for smooth motions, is small.
    """
    quiet = jnp.all((squares <= SLACK * remembered)[2:])
    if odd is not None:
        beyond = (float((top + 1) * double_factorial(top)) * odd) ** 2
        quiet = quiet & (beyond <= SLACK * remembered[3] * expected**2)
    return jnp.where(quiet, remembered, 0)
