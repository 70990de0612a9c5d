"""The estimate of a step's error, from the expansion of its accelerations."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._custom_types import BoolScalar, FloatScalar
from ..._implicit import stop_gradient
from ..._jax_internals import mix
from ..._step import ModifiedJacobian, Stages
from ..._system import FlatSystem
from ..._tableau import SparkTableau
from ._decay import (
    decay_rate,
    double_factorials,
    extrapolated,
    largest_growth,
    limit,
    MIDDLE,
    PHASE,
    rates_between,
)
from ._ends import free_parts
from ._expansion import double_factorial, Expansion, expansion
from ._history import changes, continued, History, remembered_squares, trusted


# A step is rough where `Z_e` is at least this part of its value for coefficients of equal size.
ROUGH = 0.95


class StepError(eqx.Module):
    """The estimated error of a step in `y` and `z`, and what the next one remembers of it.

    - `slopes`: the accelerations at both ends, by the polynomial through the stages: with one
        coefficient only, they are the same.
    - `rough`: whether the highest coefficients hardly decay, as those of a jump or of rounding
        errors, so that the estimate is in proportion to the step size at most.
    """

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    history: History
    slopes: Float[Array, "2 nz"]
    rough: BoolScalar


def estimate(
    flat: FlatSystem,
    tableau: SparkTableau,
    jacobian: ModifiedJacobian,
    t0: FloatScalar,
    start: tuple[Float[Array, " ny"], Float[Array, " nz"]],
    h: FloatScalar,
    stages: Stages,
    history: History,
) -> StepError:
    r"""The error of a step, in every entry of the state.

    The accelerations of the step are `sum_k a_k P_k(2x - 1)`, in Legendre polynomials. The stages
    tell `a_0..a_{q-1}`. With the defects `m_0`, `m_1` at the ends, `h` times what this polynomial
    lacks there of the true accelerations,

        even = (m_1 + (-1)^q m_0) / 2 = h (a_q + a_{q+2} + ...),    odd = (m_1 - (-1)^q m_0) / 2

    are known, too; a method that collocates at the end has no defect there, and `even` is that
    of the start. `even` is the next coefficient of a smooth motion. `odd` is `(2q+1)/(q+1) h
    a_{q+1}` where forces depend on the time alone, and 0 for linear autonomous ones: it tells
    nothing of smooth motions, but as much as `even` of a kink or a jump. Of all these the parts
    count that holonomic constraints leave free.

    A method of order `p` with the error constant `C` makes an error of `C (omega h)^p` per radian
    of an oscillation, which is `2^p C b_p` with `b_k = (2k - 1)!! |a_k|`. From `b_q` there it
    takes `m = p - 1 - q` more rates `zeta` of the decay, that of smooth motions if the
    coefficients behave like theirs, else as much as there may be, `Z_e = Z(m)` and from `b_{q-1}`
    `Z_o = Z(m + 1)`. With `d`, by which `h a_{q-1}` differs from what the step before lets expect,
    and its `Z_d`, 0 unless `d` is larger than that of a smooth motion (and after a step that was
    more than three times shorter, from which nothing is expected), the estimate is, entry by entry,
    for `R` radians,

        E_z = R C 2^(p-1) sqrt( (Z_e (2q-1)!!)^2 (even^2 + odd^2) + (Z_o (2q-3)!! h a_{q-1})^2
                                + (Z_d (2q-1)!! d)^2 ),

    and `E_y` is `h/2 |v_z .|` of those with `Z_e` and `Z_o`, without `odd`, with `even` replaced by
    `h a_{q-1}`, and `h a_{q-1}` by `h a_{q-2}`. For smooth motions this is the error made in so
    many radians, in every phase, so that the error at a given time is proportional to it. For a
    jump `J` inside the step it is at least `K h |a_q|`, `K` between 0.5 and 2, as large as the
    error itself, at most `h J max b_i / 2`.

    Where the highest coefficients are rounding errors, the estimate is one of these. Those of `y`,
    divided by `h`, are in the velocities of stages, normal to the holonomic constraints; forces
    that depend on velocities are wrong by as much: `eps |y| |f_z|` in the free parts, at every
    step size. Such steps are `rough`, as those with a jump are.

    What it cannot see: a bump between all nodes and ends of a step; and a kink or a jump in a step
    whose smooth coefficients are larger, for no datum of two steps tells them apart.

    **Arguments:**

    - `flat`, `tableau`: the system, and the method.
    - `jacobian`: the factors that the Newton iteration of the step used.
    - `t0`, `start`, `h`, `stages`: where the step started, its size, and its converged stages.
    - `history`: that of the step before.

    **Returns:** the estimate, through which no gradient flows.

    Source: this project's, measured by `python -m benchmarks figures audit`. For its parts see
    `free_parts`, `decay_rate`, `largest_growth` and `extrapolated`.
    """
    operands = stop_gradient((flat, jacobian, t0, start, h, stages, history))
    flat, jacobian, t0, start, h, stages, history = operands
    known = expansion(tableau)
    z0 = start[1]
    # Differences from the start: it would only add rounding errors.
    values = jnp.concatenate([jnp.zeros_like(z0)[None, :], stages.z - z0[None, :]])
    lowest = max(known.degree - 3, 0)
    rows = mix(known.rows[lowest:], values)
    unlike_before = rows[-3] - continued(known, h, history)
    free = jnp.concatenate([rows[:-2], unlike_before[None], rows[-2:]])
    a, defects = free_parts(flat, known, jacobian, t0, start, h, stages, free)
    even, odd = _parts(known, defects)
    # Of a polynomial that collocates at the end a_{q-1} is less accurate.
    unlike_before = jnp.zeros_like(even) if known.collocates_end else a[-1]
    by_changes = changes(known, even, unlike_before, h, history)
    # Up to the top; methods of low order use less than they could.
    a = jnp.concatenate([a[:-1], even[None]])[: known.top + 1 - lowest]

    measured = jnp.concatenate([a, odd[None], by_changes, rows[:1]])
    sizes = jnp.sqrt(jnp.abs(jnp.sum(measured * jacobian.p_z.times(measured), 1)))
    like, unlike, hidden, rate, power, rough = _factors(known, sizes[:-4], sizes[-4:], h, history)

    scale = known.radians * known.constant * 2.0 ** (known.order - 1)
    scales = [float(x) for x in double_factorials(known.top, len(a))]
    b = [jnp.zeros_like(z0)] * 2 + [factor * x for factor, x in zip(scales, a, strict=True)]
    beside = scales[-1] * jnp.stack([odd, unlike_before])
    odd, unlike_before = beside if known.top == known.degree else jnp.zeros_like(beside)

    def along(x):
        moves = x if jacobian.v_z is None else jacobian.v_z.times(x[None, :])[0]
        return h / 2 * moves

    error_z = (
        like**2 * (b[-1] ** 2 + odd**2) + (unlike * b[-2]) ** 2 + (hidden * unlike_before) ** 2
    )
    error_y = jnp.hypot(like * along(b[-2]), unlike * along(b[-3]))
    highest = jnp.stack([rows[-3], even])
    new = History(power, rate / jnp.abs(h), highest, h)
    return StepError(scale * error_y, scale * jnp.sqrt(error_z), new, rows[-2:] / h, rough)


def _factors(
    known: Expansion,
    sizes: Float[Array, " n"],
    others: Float[Array, "4"],
    h: FloatScalar,
    history: History,
) -> tuple[FloatScalar, FloatScalar, FloatScalar, FloatScalar, FloatScalar, BoolScalar]:
    """`Z_e`, `Z_o`, `Z_d`, the rate and the power that the next step remembers, and `rough`.

    `others` are the sizes of `odd`, of two estimates of `a_{q+1}` by changes since the last step,
    and of the lowest coefficient with all its parts.
    """
    top, n = known.top, len(sizes)
    # Vectors rather than lists of scalars: XLA makes each division of scalars a kernel of its own.
    squares = (sizes * double_factorials(top, n).astype(sizes.dtype)) ** 2
    expected = history.rate * jnp.abs(h)
    usual = remembered = remembered_squares(top + 1 - n, n, expected, h, history)
    beyond = (others[0], jnp.maximum(others[1], others[2])) if top == known.degree else None
    if n == 4:
        remembered = trusted(remembered, squares, beyond[0] if beyond else None, expected, top)
    # A motion in which these vanish for a moment, as where it turns, is no slower than before.
    floored = jnp.where(np.arange(n) < n - 2, jnp.maximum(squares, remembered), squares)
    if n == 3:
        # In a rotation the mean acceleration is all normal, and its change is not.
        least = (PHASE * double_factorial(top - 2) * others[3]) ** 2
        floored = jnp.maximum(floored, jnp.where(np.arange(3) < 1, least, 0))
    rate = decay_rate(floored, top)
    power = squares[0]
    if n > 1:
        weight = MIDDLE if n == 3 else 1.0
        power = power + weight * squares[1] / jnp.where(rate > 0, rate**2, 1)
    if n == 4:
        # Where both vanish for a moment, no datum of this step tells it.
        vanish = (remembered[0] > squares[0]) | (remembered[1] > squares[1])
        power = jnp.where(vanish, remembered[0], power)
    rates = rates_between(sizes, beyond, rate, remembered, usual, top)
    growths = largest_growth(rates, n == 4, rate, expected, history.h != 0)
    more = known.order - 1 - top
    like, unlike, hidden = extrapolated(rate, growths, top, more)
    # Without a degree in between, estimates are of the order of the method in any case.
    rough = like >= ROUGH * limit(top) ** more if more else jnp.asarray(False)
    return like, unlike, (1 - 1 / growths[2]) * hidden, rate, power, rough


def _parts(
    known: Expansion, defects: Float[Array, "i nz"]
) -> tuple[Float[Array, " nz"], Float[Array, " nz"]]:
    """`even` and `odd`."""
    sign = (-1.0) ** known.degree
    if known.collocates_end:
        return sign * defects[0] / 2, jnp.zeros_like(defects[0])
    return (defects[1] + sign * defects[0]) / 2, (defects[1] - sign * defects[0]) / 2
