"""A Stewart platform on six legs with springs."""

import numpy as np

from jaxspark import multibody as mb


# Radii of feet and corners, and half their angles apart from six equal ones (rad); the platform's
# height (m); masses of halves of legs and of the platform (kg); springs (N/m).
RADII, SPREAD, HEIGHT = (1.0, 0.6), 0.35, 1.2
HALF_LEG, PLATFORM, INERTIA, STIFFNESS = 0.2, 10.0, (0.9, 0.9, 1.8), 2000.0


def hexagon(radius: float, spread: float) -> np.ndarray:
    """Corners in pairs, shape `(6, 3)`."""
    angle = np.arange(6) * np.pi / 3 + spread * np.array([1, -1, 1, -1, 1, -1])
    return radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)


def stewart() -> tuple[mb.Mechanism, tuple]:
    """Each leg: a universal joint, a slide with a spring, a spherical joint at the platform."""
    feet, corners = hexagon(RADII[0], SPREAD), hexagon(RADII[1], -SPREAD)
    tops = corners + [0, 0, HEIGHT]
    bodies = [mb.Body("platform", PLATFORM, inertia=INERTIA)]
    joints: list[mb.Joint] = []
    for k, (foot, top) in enumerate(zip(feet, tops, strict=True)):
        leg = top - foot
        length = float(np.linalg.norm(leg))
        along = leg / length
        across = np.cross(along, [0, 0, 1.0])
        across /= np.linalg.norm(across)
        for name in ("lower", "upper"):
            spread = (np.eye(3) - np.outer(along, along)) * HALF_LEG * (length / 2) ** 2 / 12
            com = along * length / 4
            bodies.append(mb.Body(f"{name} {k}", HALF_LEG, com=com, inertia=spread))
        second = np.cross(along, across)
        low, up, middle = f"lower {k}", f"upper {k}", along * length / 2
        joints += [
            mb.Universal(f"foot {k}", "ground", low, position=foot, axis=across, second=second),
            mb.Prismatic(f"leg {k}", low, up, position=middle, axis=along, stiffness=STIFFNESS),
            mb.Spherical(f"top {k}", up, "platform", position=middle, child_position=corners[k]),
        ]
    mechanism = mb.Mechanism(bodies, joints)
    return mechanism, mechanism.state({f"leg {k}": 0.04 * np.sin(k) for k in range(6)})
