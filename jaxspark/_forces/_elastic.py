"""Springs in joints, and play."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ._floats import as_floats


Number = Real[ArrayLike, "..."]


def elastic(
    deflection: Number,
    rate: Number,
    *,
    stiffness: Number,
    damping: Number = 0.0,
    cubic: Number = 0.0,
) -> Float[Array, "..."]:
    """Moment of an elastic joint: `-(k x + k_3 x^3 + d x')`.

    **Arguments:**

    - `deflection`: `x`, of the far side relative to the near one (rad, or m); any shape.
    - `rate`: `x'` (rad/s, or m/s).
    - `stiffness`: `k` (N m/rad, or N/m); `damping`: `d` (N m s/rad, or N s/m); `cubic`: `k_3`
        (N m/rad^3, or N/m^3).

    **Returns:** the moment (N m), or force (N), on the far side; minus this on the near one.

    Source: M. W. Spong, *Modeling and control of elastic joint robots*, J. Dyn. Syst. Meas.
    Control 109 (1987); with a cubic term.
    """
    x, k, d, k3, rate = as_floats(deflection, stiffness, damping, cubic, rate)
    return -(k * x + k3 * x**3 + d * rate)


def backlash(
    deflection: Number,
    rate: Number,
    *,
    play: Number,
    width: Number,
    stiffness: Number,
    damping: Number = 0.0,
) -> Float[Array, "..."]:
    r"""Moment of a joint with play: zero within `play` to either side, that of a spring beyond.

        M = -k s(x) - d s'(x) x',
        s(x) = x + (sqrt((x - b)^2 + width^2) - sqrt((x + b)^2 + width^2)) / 2

    `s` is the deflection beyond the play `b`, smoothed over `width` at its ends.

    **Arguments:**

    - `deflection`: `x`, of the far side relative to the near one (rad, or m); any shape.
    - `rate`: `x'` (rad/s, or m/s).
    - `play`: `b`, half the free travel (rad, or m).
    - `width`: where the ends of the play are smoothed (rad, or m), positive.
    - `stiffness`, `damping`: beyond the play, `k` (N m/rad, or N/m) and `d` (N m s/rad, or N s/m).

    **Returns:** the moment (N m), or force (N), on the far side; minus this on the near one.

    Source: M. Nordin & P.-O. Gutman, *Controlling mechanical systems with backlash: a survey*,
    Automatica 38 (2002), the dead-zone model; smoothed.
    """
    x, b, w, k, d, rate = as_floats(deflection, play, width, stiffness, damping, rate)
    below, above = jnp.sqrt((x - b) ** 2 + w**2), jnp.sqrt((x + b) ** 2 + w**2)
    beyond = x + (below - above) / 2
    slope = 1 + ((x - b) / below - (x + b) / above) / 2
    return -k * beyond - d * slope * rate
