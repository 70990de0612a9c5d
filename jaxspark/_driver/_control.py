"""Sizes of steps from their errors: proportional-integral control, as pure functions of arrays."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar


# Proportional and integral.
GAINS = 0.4, 0.3
SAFETY, SMALLEST_FACTOR, LARGEST_FACTOR = 0.9, 0.2, 5.0
# After a rough step: with 5, errors after jumps were larger; with 1, rounding errors still ended
# solves. Chosen on the audit's square wave, stiff damper and large wheel.
LARGEST_ROUGH = 1.5
# After a step that failed, how much longer than half of it the next ones may become at most.
RELAXATION = 1.05
# Of the interval, that no step may exceed by default: in a motion that begins quietly, steps would
# grow beyond what happens later.
LARGEST = 0.1
# Of the interval: the trial from which the first step is chosen; and by how much smaller the next
# one is, if that fails.
PROBE, SMALLER = 1e-5, 1e-2


class Tolerances(NamedTuple):
    """Relative and absolute tolerance, and the largest step."""

    rtol: FloatScalar
    atol: FloatScalar
    longest: FloatScalar


class Control(NamedTuple):
    """What the controller remembers; times are measured from the start, all positive.

    - `h`: the size of the next step.
    - `error`: that of the last accepted step.
    - `longest`: the longest step that does not fail.
    - `wall`: where the last step that was rejected for its error would have ended.
    """

    h: FloatScalar
    error: FloatScalar
    longest: FloatScalar
    wall: FloatScalar


def start(h: FloatScalar) -> Control:
    """The controller before the first step, of size `h`."""
    infinite = jnp.full_like(h, jnp.inf)
    return Control(h, jnp.ones_like(h), infinite, -infinite)


def scaled_error(
    tolerances: Tolerances,
    x0: Float[Array, " n"],
    x1: Float[Array, " n"],
    error: Float[Array, " n"],
    good: BoolScalar,
) -> FloatScalar:
    """The root mean square of `error / (atol + rtol |x|)`; infinite of a failed step."""
    size = jnp.maximum(jnp.abs(x0), jnp.abs(x1))
    units = tolerances.atol + tolerances.rtol * size
    norm = jnp.sqrt(jnp.mean((error / units) ** 2))
    return jnp.where(good & jnp.isfinite(norm), norm, jnp.inf)


def adapt(
    control: Control,
    tolerances: Tolerances,
    gains: tuple[float, float],
    order: int,
    end: FloatScalar,
    h: FloatScalar,
    error: FloatScalar,
    rough: BoolScalar | None = None,
) -> tuple[BoolScalar, Control]:
    """Whether a step of size `h` that ends at `end` is kept, and what follows from it.

    A step is kept if its scaled error is at most 1. The next one is larger by
    `0.9 error^(-(P + I) / order) previous^(P / order)`, with the gains `(P, I)`. A step that
    failed, of which there is no error, is halved, and those after it grow slowly: what did not
    succeed will not a moment later. Before the end of a step that was rejected for its error is
    passed, none is longer than the one before: what was in its way is still ahead.

    The error of a `rough` step is in proportion to its size at most. If it is kept, the next one is
    `min(0.9 / error, 1.5)` times as long. By the power above, steps whose errors are rounding
    errors would go on shrinking, and their errors would not.

    Source: K. Gustafsson, *Control-theoretic techniques for stepsize selection in implicit
    Runge-Kutta methods*, ACM TOMS 20 (1994); the limits after a failure and after a rejection, and
    what follows from rough steps, are this project's.
    """
    failed = ~jnp.isfinite(error)
    keep = error <= 1
    known = jnp.maximum(jnp.where(failed, jnp.ones_like(error), error), 1e-10)
    accepted = SAFETY * known ** (-sum(gains) / order) * control.error ** (gains[0] / order)
    if rough is not None:
        accepted = jnp.where(rough, jnp.minimum(SAFETY / known, LARGEST_ROUGH), accepted)
    rejected = jnp.minimum(SAFETY * known ** (-1 / order), SAFETY)
    factor = jnp.where(keep, accepted, rejected)
    ahead = keep & (end < control.wall - 1e-3 * h)
    factor = jnp.where(ahead, jnp.minimum(factor, 1.0), factor)
    factor = jnp.where(failed, 0.5, jnp.clip(factor, SMALLEST_FACTOR, LARGEST_FACTOR))
    wall = jnp.where(keep | failed, control.wall, end)
    longest = jnp.where(keep, control.longest * RELAXATION, control.longest)
    longest = jnp.where(failed, jnp.minimum(longest, 0.5 * h), longest)
    size = jnp.minimum(h * factor, jnp.minimum(longest, tolerances.longest))
    return keep, Control(size, jnp.where(keep, known, control.error), longest, wall)


def first_step(
    tolerances: Tolerances,
    order: int,
    x: Float[Array, " n"],
    slope: Float[Array, " n"],
    later: Float[Array, " n"],
    distance: FloatScalar,
) -> FloatScalar:
    """The size of the first step, from the derivatives at the start and at a `distance` from it.

    - `order`: the power of the step size in the estimated error, the `p + 1` of the source.

    Source: E. Hairer, S. P. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, 2nd
    edition, II.4, algorithm on page 169.
    """
    units = tolerances.atol + tolerances.rtol * jnp.abs(x)
    norm = lambda vector: jnp.sqrt(jnp.mean((vector / units) ** 2))
    d0, d1, d2 = norm(x), norm(slope), norm(later - slope) / distance
    tiny = 1e-5
    guess = jnp.where((d0 < tiny) | (d1 < tiny), 1e-6, 0.01 * d0 / jnp.maximum(d1, tiny))
    largest = jnp.maximum(d1, d2)
    exponent = 1 / order
    bent = (0.01 / jnp.maximum(largest, tiny)) ** exponent
    bent = jnp.where(largest <= 1e-15, jnp.maximum(1e-6, guess * 1e-3), bent)
    size = jnp.minimum(100 * guess, bent)
    size = jnp.where(jnp.isfinite(size) & (size > 0), size, distance)
    return jnp.minimum(size, tolerances.longest)
