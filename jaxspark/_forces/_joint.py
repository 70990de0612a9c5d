"""Friction of joints whose load hardly changes: Coulomb, viscous, Stribeck; LuGre."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ._floats import as_floats


Number = Real[ArrayLike, "..."]


def friction(
    rate: Number,
    *,
    width: Number,
    coulomb: Number = 0.0,
    viscous: Number = 0.0,
    static: Number | None = None,
    stribeck_rate: Number | None = None,
) -> Float[Array, "..."]:
    r"""Friction of a joint, against its rate.

        M = -(F_C + (F_S - F_C) exp(-(w / w_S)^2)) w / sqrt(w^2 + width^2) - F_v w

    Coulomb's law is recovered for a small width; a joint that would stick creeps. Where the load
    changes see [`jaxspark.dry_friction`][]; where sticking matters, [`jaxspark.forces.lugre`][].

    **Arguments:**

    - `rate`: `w`, of each joint (rad/s), or a sliding velocity (m/s); any shape.
    - `width`: the rate over which Coulomb's part changes sign (in the unit of `rate`), positive.
        Steps must resolve it; it should be well below the rates of interest.
    - `coulomb`: `F_C`, friction at high rates (N m, or N).
    - `viscous`: `F_v`, the coefficient of viscous friction (N m s/rad, or N s/m).
    - `static`: `F_S`, friction at low rates (N m, or N). Default: `F_C`.
    - `stribeck_rate`: `w_S`, the rate over which it falls to `F_C` (in the unit of `rate`). Give
        both `static` and `stribeck_rate`, or none.

    **Returns:** the moment (N m), or force (N), on what moves with `rate`; of its shape.

    **Raises:** `ValueError` if only one of `static` and `stribeck_rate` is given.

    Source: B. Armstrong-Hélouvry, P. Dupont & C. Canudas de Wit, *A survey of models, analysis
    tools and compensation methods for the control of machines with friction*, Automatica 30
    (1994), section 2.
    """
    rate, width, viscous = as_floats(rate, width, viscous)
    dry = _falling(rate, coulomb, static, stribeck_rate)
    return -dry * rate / jnp.sqrt(rate**2 + width**2) - viscous * rate


def lugre(
    rate: Number,
    bristle: Number,
    *,
    stiffness: Number,
    damping: Number,
    coulomb: Number,
    viscous: Number = 0.0,
    static: Number | None = None,
    stribeck_rate: Number | None = None,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""LuGre friction, which sticks: bristles bend by `b`, a state of its own.

        b' = w - sigma_0 |w| b / G(w),  G(w) = F_C + (F_S - F_C) exp(-(w / w_S)^2),
        M = -(sigma_0 b + sigma_1 b' + F_v w)

    The bend is a coordinate without mass: in a [`jaxspark.ConstrainedSystem`][] it is a part of
    `y`, and `v` returns `b'` for it. Its equation is stiff: its rate is
    `sigma_0 |w| / G(w)`.

    **Arguments:**

    - `rate`: `w`, of each joint (rad/s), or a sliding velocity (m/s); any shape.
    - `bristle`: `b` (rad, or m), of the same shape.
    - `stiffness`, `damping`: `sigma_0` (N m/rad, or N/m), `sigma_1` (N m s/rad, or N s/m).
    - `coulomb`, `viscous`, `static`, `stribeck_rate`: as for [`jaxspark.forces.friction`][];
        `coulomb` must not be zero.

    **Returns:** the moment (N m), or force (N), on what moves with `rate`; and `b'` (rad/s, or
    m/s).

    **Raises:** `ValueError` if only one of `static` and `stribeck_rate` is given.

    Source: C. Canudas de Wit, H. Olsson, K. J. Åström & P. Lischinsky, *A new model for control
    of systems with friction*, IEEE Trans. Automatic Control 40 (1995), equations (1) to (3).
    """
    rate, stiffness, damping, viscous, bristle = as_floats(
        rate, stiffness, damping, viscous, bristle
    )
    steady = _falling(rate, coulomb, static, stribeck_rate)
    change = rate - stiffness * jnp.abs(rate) * bristle / steady
    return -(stiffness * bristle + damping * change + viscous * rate), change


def _falling(
    rate: Float[Array, "..."],
    coulomb: Number,
    static: Number | None,
    stribeck_rate: Number | None,
) -> Float[Array, "..."]:
    """Dry friction that falls from its value at rest to Coulomb's: Stribeck's curve."""
    if (static is None) != (stribeck_rate is None):
        raise ValueError(
            "static and stribeck_rate belong together: friction at low rates, and the rate at "
            "which it has fallen. Give both, or none."
        )
    dry = jnp.asarray(coulomb, rate.dtype)
    if static is None or stribeck_rate is None:
        return dry
    more = jnp.asarray(static, rate.dtype) - dry
    return dry + more * jnp.exp(-((rate / jnp.asarray(stribeck_rate, rate.dtype)) ** 2))
