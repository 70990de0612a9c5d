"""Dry friction, regularised so that it can be differentiated and solved for."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from .._custom_types import FloatScalar, RealScalarLike
from ._floats import as_floats


def dry_friction(
    slip: Real[ArrayLike, "..."],
    load: Real[ArrayLike, "..."],
    coefficient: RealScalarLike,
    *,
    slip_width: RealScalarLike,
    load_floor: RealScalarLike,
) -> Float[Array, "..."]:
    r"""Coulomb's friction force, against the slip and proportional to the load.

        F = -coefficient N slip / sqrt(|slip|^2 + slip_width^2),
        N = sqrt(|load|^2 + load_floor^2)

    Coulomb's law is recovered for small widths. It has no derivative where the slip or the
    load vanishes, and Newton's iteration starts from loads of zero; this law is smooth. The
    force is too small by `(slip_width / slip)^2 / 2` of itself, and too large by `(load_floor /
    load)^2 / 2`. A body that would stick creeps, at about `slip_width` times the ratio of the
    driving force to the largest friction force, if that is small. Steps must resolve the width,
    or Newton's iteration diverges where the slip vanishes: `h coefficient N / (mass slip_width)`
    should be 0.2 or less. The cure for a divergence there is a smaller step `h` or a larger
    `slip_width`.

    It goes into `nonideal` or `friction` of a system, with the multipliers as the load.

    **Arguments:**

    - `slip`: the sliding velocity (m/s), a vector; or the rate of a joint (rad/s), a number.
    - `load`: the normal force (N), of any shape: its Euclidean norm counts. For a joint, the
        force in it.
    - `coefficient`: the coefficient of friction, a number; for a joint, times its radius (m).
    - `slip_width`: the velocity over which the force changes sign (m/s or rad/s), positive.
    - `load_floor`: a force far below the usual load (N), positive.

    **Returns:** the force (N) on what moves with `slip`, of its shape; for a joint, the moment
    (N m).

    Source: E. Pennestrì, V. Rossi, P. Salvini & P. P. Valentini, *Review and comparison of dry
    friction force models*, Nonlinear Dyn. 83 (2016), on Coulomb's law and its smoothing.
    """
    slip, coefficient = as_floats(slip, coefficient)
    force = coefficient * regularised_norm(load, load_floor)
    return -force * slip / regularised_norm(slip, slip_width)


def regularised_norm(x: Real[ArrayLike, "..."], width: RealScalarLike) -> FloatScalar:
    """The Euclidean norm with derivatives at zero, too: `sqrt(|x|^2 + width^2)`.

    **Arguments:**

    - `x`: an array of any shape, or a number.
    - `width`: where the norm is smoothed, in the unit of `x`, positive.

    **Returns:** a scalar, in the unit of `x`.
    """
    x, width = as_floats(x, width)
    return jnp.sqrt(jnp.sum(x**2) + width**2)
