"""The problems of IFToMM's library, each in at most 20 lines of bodies, joints and forces.

Source: IFToMM Technical Committee for Multibody Dynamics, *Library of Computational Benchmark
Problems*, A01 to A05; M. Gonzalez, D. Dopico, U. Lugris & J. Cuadrado, *A benchmarking system for
MBS simulation software*, Multibody System Dynamics 16 (2006); data of A03 as in F. Mazzia & C.
Magherini, *Test Set for IVP Solvers*. Lengths in m, masses in kg.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxspark import multibody as mb
from jaxspark.multibody import Body, Mechanism, Revolute

from ..problems._andrews import PARAMETERS


GRAVITY = (0, -9.81, 0)
State = tuple[jnp.ndarray, jnp.ndarray]
Built = tuple[Mechanism, State]


def pendulum() -> Built:
    """A01: a point mass on a massless rod, from the horizontal."""
    bodies = [Body("mass", 1.0, com=(-1, 0, 0))]
    mechanism = Mechanism(bodies, [Revolute("O", "ground", "mass")], gravity=GRAVITY)
    return mechanism, mechanism.state()


def four_bars(count: int) -> Built:
    """A02: windows of three rods each in a row, upright, with 1 m/s at the top.

    Where all rods lie in a line, each window has a freedom of its own.
    """
    rod: dict[str, Any] = {"mass": 1.0, "inertia": 1 / 12}
    bodies = [Body(f"rod {k}", com=(0, 0.5, 0), **rod) for k in range(count + 1)]
    bodies += [Body(f"top {k}", com=(0.5, 0, 0), **rod) for k in range(count)]
    joints = [Revolute(f"A{k}", "ground", f"rod {k}", position=(k, 0)) for k in range(count + 1)]
    for k in range(count):
        joints.append(Revolute(f"B{k}", f"rod {k}", f"top {k}", position=(0, 1)))
        ends = {"position": (1, 0), "child_position": (0, 1), "cut": True}
        joints.append(Revolute(f"C{k}", f"top {k}", f"rod {k + 1}", **ends))
    mechanism = Mechanism(bodies, joints, gravity=GRAVITY)
    return mechanism, mechanism.state({"A0": 0.0}, {"A0": -1.0})


BETA = -0.0617138900142764496  # where the crank begins


def andrews() -> Built:
    """A03: Andrews' squeezer, in the angles of its sources, at rest, with a constant moment."""
    p = PARAMETERS
    places = [(p["ra"], 0), (-p["da"], 0), (p["sb"], -p["sa"]), (0, p["ea"] - p["e"])]
    places += [(p["ta"], p["tb"]), (p["zf"] - p["fa"], 0), (-p["ub"], -p["ua"])]
    bodies = [
        Body(f"K{k}", p[f"m{k}"], com=com, inertia=p[f"I{k}"]) for k, com in enumerate(places, 1)
    ]
    A, B, C = ((p[f"x{k}"], p[f"y{k}"]) for k in "abc")
    tree = [("be", "ground", 1, (0, 0)), ("th", "K1", 2, (p["rr"], 0)), ("ga", "ground", 3, B)]
    tree += [("de", "ground", 5, A), ("ph", "K5", 4, (p["zt"], 0)), ("ep", "ground", 7, A)]
    tree += [("om", "K7", 6, (0, -p["u"]))]
    joints = [Revolute(name, a, f"K{b}", position=at) for name, a, b, at in tree]
    for k, end in ((3, (0, -p["ss"])), (4, (0, -p["e"])), (6, (p["zf"], 0))):
        ends = {"position": (-p["d"], 0), "child_position": end, "cut": True}
        joints.append(Revolute(f"E{k}", "K2", f"K{k}", **ends))
    law: Any = {"at_first": (p["sd"], -p["sc"]), "stiffness": p["c0"], "length": p["l0"]}
    spring = mb.Spring("spring", "K3", "ground", at_second=C, **law)
    motor = mb.Motor("motor", "be", lambda t, q, z, args: p["mom"] * jnp.ones_like(q))
    mechanism = Mechanism(bodies, joints, forces=[spring, motor], gravity=(0, 0, 0))
    guess = {"th": 0.0, "ga": 0.455, "ph": 0.223, "de": 0.487, "om": -0.223, "ep": 1.23}
    return mechanism, mechanism.state({"be": BETA}, guess=guess)


# Corners of a cube that Bricard's rods go along, and the axes of the joints there.
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]
THICK = 0.1


def bricard() -> Built:
    """A04: five rods of square section and six revolute joints: one equation is redundant."""
    bodies, joints = [], []
    for k, (first, last) in enumerate(zip(CORNERS[:-1], CORNERS[1:], strict=True)):
        along = last - first
        inertia = (1 + THICK**2) / 12 * np.eye(3) + (THICK**2 - 1) / 12 * np.outer(along, along)
        bodies.append(
            Body(f"rod {k}", 1.0, com=along / 2, inertia=inertia, lines=[[0 * along, along]])
        )
        parent, place = ("ground", first) if k == 0 else (f"rod {k - 1}", first - CORNERS[k - 1])
        joints.append(Revolute(f"P{k}", parent, f"rod {k}", position=place, axis=AXES[k]))
    end = {"position": CORNERS[5] - CORNERS[4], "child_position": CORNERS[5], "axis": AXES[5]}
    joints.append(Revolute("P5", "rod 4", "ground", cut=True, **end))
    mechanism = Mechanism(bodies, joints, gravity=GRAVITY)
    return mechanism, mechanism.state()


# Of the governor: density (kg/m^3), stiffness (N/m), damping (N s/m), length of springs, balls.
DENSITY, STIFFNESS, DAMPING, LENGTH, BALL = 3000.0, 8e5, 4e4, 0.5, 5.0


def brick(*sides: float) -> dict[str, Any]:
    """The mass and the inertia of a block."""
    mass, squares = DENSITY * float(np.prod(sides)), np.square(sides)
    return {"mass": mass, "inertia": mass / 12 * (np.sum(squares) - squares)}


def governor() -> Built:
    """A05: rods on a shaft that turns, held by stiff springs and dampers to a slider."""
    rod = brick(1.0, 0.01, 0.01)
    mass, along = rod["mass"] + BALL, (rod["mass"] / 2 + BALL) / (rod["mass"] + BALL)
    apart = (rod["mass"] * (along - 0.5) ** 2 + BALL * (1 - along) ** 2) * np.array([0, 1, 1])
    bodies = [Body("shaft", com=(0, 0, 0.5), **brick(0.01, 0.01, 1.0))]
    bodies.append(Body("slider", **brick(0.1, 0.1, 0.1)))
    joints = [Revolute("turn", "ground", "shaft"), mb.Prismatic("s", "shaft", "slider")]
    law: Any = {"stiffness": STIFFNESS, "length": LENGTH, "damping": DAMPING}
    springs = []
    for side, sign in (("left", -1), ("right", 1)):
        inertia = rod["inertia"] + apart
        bodies.append(Body(side, mass, com=(sign * along, 0, 0), inertia=inertia))
        place, axis = (sign * 0.05, 0, 1), (0, sign, 0)
        joints.append(Revolute(f"{side} arm", "shaft", side, position=place, axis=axis))
        ends = {"at_first": (sign * 0.05, 0, 0), "at_second": (sign * 0.5, 0, 0)}
        springs.append(mb.Spring(side, "slider", side, **ends, **law))
    mechanism = Mechanism(bodies, joints, forces=springs)
    down = {"left arm": np.pi / 6, "right arm": np.pi / 6}
    return mechanism, mechanism.state({"s": 0.5, **down}, {"turn": 2 * np.pi})
