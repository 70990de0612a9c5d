"""A four-bar linkage reduced by hand to its crank angle, for NumPy, JAX, CasADi or `math`."""

from collections.abc import Mapping, Sequence
from typing import Any


GROUND = 1.0  # m, between the pivots, the crank's at the origin
GRAVITY = 9.81  # m/s^2, along -y


def loop(xp: Any, crank_angle: Any, p: Mapping[str, Any]) -> tuple[Any, Any]:
    """Angles of coupler and rocker that close the loop (rad), from the x axis.

    The coupler goes from the end of the crank to the end of the rocker, above the line from
    the former to the rocker's pivot.
    """
    dx = GROUND - p["crank"] * xp.cos(crank_angle)
    dy = -p["crank"] * xp.sin(crank_angle)
    squared = dx * dx + dy * dy
    cosine = (p["coupler"] * p["coupler"] + squared - p["rocker"] * p["rocker"]) / (
        2 * p["coupler"] * xp.sqrt(squared)
    )
    coupler_angle = xp.atan2(dy, dx) + xp.acos(cosine)
    return coupler_angle, xp.atan2(
        p["coupler"] * xp.sin(coupler_angle) - dy, p["coupler"] * xp.cos(coupler_angle) - dx
    )


def slopes(
    xp: Any, angles: Sequence[Any], p: Mapping[str, Any]
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """First and second derivatives of the angles of coupler and rocker by the crank's."""
    one, two, three = angles
    sine = xp.sin(three - two)
    two_1 = p["crank"] * xp.sin(one - three) / (p["coupler"] * sine)
    three_1 = p["crank"] * xp.sin(one - two) / (p["rocker"] * sine)
    # The loop twice differentiated: what the second derivatives must balance, along x and y.
    along_x = p["crank"] * xp.cos(one) + p["coupler"] * xp.cos(two) * two_1**2
    along_x = along_x - p["rocker"] * xp.cos(three) * three_1**2
    along_y = p["crank"] * xp.sin(one) + p["coupler"] * xp.sin(two) * two_1**2
    along_y = along_y - p["rocker"] * xp.sin(three) * three_1**2
    two_2 = (xp.cos(three) * along_x + xp.sin(three) * along_y) / (p["coupler"] * sine)
    three_2 = (xp.cos(two) * along_x + xp.sin(two) * along_y) / (p["rocker"] * sine)
    return (two_1, three_1), (two_2, three_2)


def acceleration(xp: Any, crank_angle: Any, rate: Any, p: Mapping[str, Any]) -> Any:
    """Of the crank angle, from `I a'' + I' a'^2 / 2 = -V' - k (a - a0) - c a'` (rad/s^2).

    Coupler and rocker are uniform rods, the crank has its centre of mass half way and any
    moment of inertia.
    """
    two, three = loop(xp, crank_angle, p)
    (two_1, three_1), (two_2, three_2) = slopes(xp, (crank_angle, two, three), p)
    a, b, c = p["crank"], p["coupler"], p["rocker"]
    crank_inertia = p["crank_inertia"] + p["crank_mass"] * a * a / 4
    rocker_inertia = p["rocker_mass"] * c * c / 3
    # The coupler's centre of mass is at a e(crank) + b/2 e(coupler).
    cosine, sine = xp.cos(crank_angle - two), xp.sin(crank_angle - two)
    inertia = crank_inertia + rocker_inertia * three_1**2
    inertia = inertia + p["coupler_mass"] * (a * a + a * b * two_1 * cosine + b * b * two_1**2 / 3)
    slope = rocker_inertia * three_1 * three_2
    slope = slope + p["coupler_mass"] * (
        a * b / 2 * (two_2 * cosine - two_1 * (1 - two_1) * sine) + b * b / 3 * two_1 * two_2
    )
    weight = (p["crank_mass"] / 2 + p["coupler_mass"]) * a * xp.cos(crank_angle)
    weight = weight + p["coupler_mass"] * b / 2 * xp.cos(two) * two_1
    weight = weight + p["rocker_mass"] * c / 2 * xp.cos(three) * three_1
    spring = p["stiffness"] * (crank_angle - p["rest"])
    moment = -GRAVITY * weight - spring - p["damping"] * rate
    return (moment - slope * rate * rate) / inertia
