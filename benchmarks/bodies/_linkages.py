"""Mechanisms with loops from bodies and joints: Jansen's linkage, a delta robot, a platform.

Two of them are also given in natural coordinates.
"""

from typing import Any

import numpy as np

from jaxspark import multibody as mb

from ._natural import Natural


# Jansen's linkage: pivots and, at the crank's angle 0, guesses of joints; lengths in m, bars that
# are uniform, of 1 kg for each metre. The crank is a flywheel on a pin, `CRANK` kg in its middle.
# Source: Th. Jansen, *The Great Pretender* (2007), the eleven lengths.
PIVOT = (-0.38, -0.078)
JANSEN = {
    "crank": 0.15, "j": 0.5, "k": 0.619, "b": 0.415, "c": 0.393, "d": 0.401, "e": 0.558,
    "f": 0.394, "g": 0.367, "h": 0.657, "i": 0.49,
}  # fmt: skip
SPEED = 4.0


def apex(base: float, near: float, far: float) -> tuple[float, float]:
    """The third corner of a triangle on `(0, 0)` and `(base, 0)`, on the left, by its sides."""
    x = (base**2 + near**2 - far**2) / (2 * base)
    return x, float(np.sqrt(near**2 - x**2))


def bars(name: str, *pairs: tuple[tuple[float, float], tuple[float, float]]) -> mb.Body:
    """A body in the plane of uniform bars, 1 kg for each metre."""
    ends = np.array(pairs, float)
    masses = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    middle = np.sum(masses[:, None] * ends.mean(1), 0) / np.sum(masses)
    far = np.sum((ends.mean(1) - middle) ** 2, 1)
    inertia = float(np.sum(masses * (masses**2 / 12 + far)))
    return mb.Body(name, float(np.sum(masses)), com=middle, inertia=inertia)


def jansen() -> tuple[mb.Mechanism, tuple]:
    """Bars `j`, `k`, `c`, `f`, the triangles `b e d` and `g h i`, and a crank."""
    L, O = JANSEN, (0.0, 0.0)  # noqa: E741
    P = apex(L["b"], L["d"], L["e"])  # the upper triangle: from the pivot to the top, to the back
    Q = apex(L["g"], L["i"], L["h"])  # the lower one: from the knee to the ankle, to the foot
    bodies = [bars(name, (O, (L[name], 0))) for name in ("crank", "j", "k", "c", "f")]
    bodies.append(bars("upper", (O, (L["b"], 0)), (O, P), ((L["b"], 0), P)))
    bodies.append(bars("lower", (O, (L["g"], 0)), (O, Q), ((L["g"], 0), Q)))
    joints = [
        mb.Revolute("crank", "ground", "crank"),
        mb.Revolute("j", "crank", "j", position=(L["crank"], 0)),
        mb.Revolute("k", "crank", "k", position=(L["crank"], 0)),
        mb.Revolute("upper", "ground", "upper", position=PIVOT),
        mb.Revolute("c", "ground", "c", position=PIVOT),
        mb.Revolute("lower", "c", "lower", position=(L["c"], 0)),
        mb.Revolute("f", "upper", "f", position=P),
    ]
    for name, a, b, at, end in (
        ("top", "j", "upper", (L["j"], 0), (L["b"], 0)),
        ("knee", "k", "c", (L["k"], 0), (L["c"], 0)),
        ("ankle", "f", "lower", (L["f"], 0), (L["g"], 0)),
    ):
        joints.append(mb.Revolute(name, a, b, position=at, child_position=end, cut=True))
    guess = {"j": 2.4, "k": 3.9, "upper": 1.27, "c": 4.95, "lower": 0.3 - 1.6, "f": 2.0}
    mechanism = mb.Mechanism(bodies, joints, gravity=(0, -9.81, 0), guess=guess)
    return mechanism, mechanism.state({"crank": 0.0}, {"crank": -SPEED})


def jansen_natural(mechanism: mb.Mechanism, y: Any) -> tuple[Natural, np.ndarray]:
    """Its eight points: two that do not move, crank, top, knee, back, ankle, foot; velocities."""
    L = JANSEN
    P, Q = apex(L["b"], L["d"], L["e"]), apex(L["g"], L["i"], L["h"])
    places = [("crank", (L["crank"], 0)), ("upper", (L["b"], 0)), ("lower", (0, 0)), ("upper", P)]
    places += [("lower", (L["g"], 0)), ("lower", Q)]
    moving = [np.asarray(mechanism.position(body, y, at))[:2] for body, at in places]
    found = Natural(np.stack([np.zeros(2), np.array(PIVOT), *moving]), [0, 1], (0, -9.81))
    ends = {
        "crank": (0, 2), "j": (2, 3), "k": (2, 4), "b": (1, 3), "c": (1, 4), "d": (1, 5),
        "e": (3, 5), "f": (5, 6), "g": (4, 6), "h": (6, 7), "i": (4, 7),
    }  # fmt: skip
    for name, (i, j) in ends.items():
        found.bar(i, j, L[name])
    return found, found.velocities({2: (0.0, -SPEED * L["crank"])})


# A delta robot: radii of base and tool, lengths (m), masses of an arm, a rod and the tool (kg),
# half the distance of two rods; springs in the arms' joints (N m), and where they are slack.
BASE, TOOL, ARM, ROD, HALF = 0.2, 0.06, 0.3, 0.7, 0.05
MASSES, STIFFNESS, REST = (0.5, 0.1, 1.0), 15.0, 0.1
TURNS = np.arange(3) * 2 * np.pi / 3
OUT = np.stack([np.cos(TURNS), np.sin(TURNS), 0 * TURNS], 1)
SIDE = np.stack([-np.sin(TURNS), np.cos(TURNS), 0 * TURNS], 1)
DOWN = np.array([0.0, 0.0, -1.0])


def rod(name: str, mass: float, along: np.ndarray) -> mb.Body:
    """A uniform bar from the origin of its body."""
    square = along @ along
    inertia = mass / 12 * (square * np.eye(3) - np.outer(along, along))
    return mb.Body(name, mass, com=along / 2, inertia=inertia, lines=[[0 * along, along]])


def delta() -> tuple[mb.Mechanism, tuple]:
    """Arms on the ground, rods in pairs on universal joints, a tool on spherical ones."""
    bodies, joints, guess = [mb.Body("tool", MASSES[2], inertia=1e-3)], [], {}
    for k in range(3):
        arm = f"arm {k}"
        bodies.append(rod(arm, MASSES[0], ARM * OUT[k]))
        hinge = {"position": BASE * OUT[k], "axis": SIDE[k]}
        hinge |= {"stiffness": STIFFNESS, "rest": REST}
        joints.append(mb.Revolute(arm, "ground", arm, **hinge))
        for sign in (-1, 1):
            name = f"rod {k}{'-+'[sign > 0]}"
            bodies.append(rod(name, MASSES[1], ROD * DOWN))
            at, to = ARM * OUT[k] + sign * HALF * SIDE[k], TOOL * OUT[k] + sign * HALF * SIDE[k]
            joints.append(mb.Universal(name, arm, name, position=at, axis=SIDE[k], second=OUT[k]))
            ends = {"position": ROD * DOWN, "child_position": to}
            joints.append(mb.Spherical(f"end {name[4:]}", name, "tool", **ends))
            guess[name] = (0.2, 0.0)
    mechanism = mb.Mechanism(bodies, joints, guess=guess)
    return mechanism, mechanism.state({"arm 0": 0.2, "arm 1": 0.3, "arm 2": 0.5})


def delta_natural(mechanism: mb.Mechanism, y: Any) -> tuple[Natural, np.ndarray]:
    """The tool's centre and three elbows: rods in pairs are parallel, so that it stays level."""
    tool = np.asarray(mechanism.position("tool", y))
    elbows = [np.asarray(mechanism.position(f"arm {k}", y, ARM * OUT[k])) for k in range(3)]
    # Fixed: hips, directions along the joints and, last, the origin.
    x = [tool, *elbows, *(BASE * OUT), *SIDE]
    found = Natural(np.stack(x), range(4, 10), (0, 0, -9.81), range(7))
    found.M[0, 0] += MASSES[2]
    for k in range(3):
        found.bar(4 + k, 1 + k, MASSES[0])
        # The other end of a rod is the tool's centre, but for a constant vector.
        found.between(1 + k, 0, TOOL * OUT[k], 2 * MASSES[1])
        found.rigid(1 + k, 4 + k, 7 + k)

    def springs(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """A torque as a force on the elbow, along its circle."""
        del v
        out = np.zeros_like(x)
        for k in range(3):
            arm = x[1 + k] - x[4 + k]
            angle = np.arctan2(arm @ DOWN, arm @ OUT[k])
            out[1 + k] = STIFFNESS * (REST - angle) / ARM**2 * np.cross(SIDE[k], arm)
        return out

    found.force = springs
    return found, np.zeros_like(found.x)
