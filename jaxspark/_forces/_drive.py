"""Drives with gears."""

from jaxtyping import Array, ArrayLike, Float, Real

from ._floats import as_floats


def rotor_energy(
    inertia: Real[ArrayLike, "..."],
    ratio: Real[ArrayLike, "..."],
    carrier_rate: Real[ArrayLike, "..."],
    joint_rate: Real[ArrayLike, "..."],
) -> Float[Array, "..."]:
    """Kinetic energy of a rotor behind a gear: `I (W + n w)^2 / 2`, to be added to a Lagrangian.

    Without it a model lacks the inertia `n^2 I` at a joint with a gear of ratio `n`, and its effect
    on the carrier. The mass of the rotor belongs to its carrier. All arguments are numbers, or
    arrays of shapes that broadcast.

    **Arguments:**

    - `inertia`: `I`, of the rotor about its axis (kg m^2).
    - `ratio`: `n`, the rate of the rotor relative to the carrier over that of the joint; negative
        if the rotor turns the other way.
    - `carrier_rate`: `W`, of the body that carries the drive, about the axis (rad/s).
    - `joint_rate`: `w`, of the joint (rad/s).

    **Returns:** the energy (J), of the broadcast shape.

    Source: B. Siciliano, L. Sciavicco, L. Villani & G. Oriolo, *Robotics: Modelling, Planning and
    Control* (2009), equation (7.14) and section 7.1.1, for axes that are parallel.
    """
    carrier_rate, inertia, ratio, joint_rate = as_floats(carrier_rate, inertia, ratio, joint_rate)
    return 0.5 * inertia * (carrier_rate + ratio * joint_rate) ** 2
