"""Mechanisms that tests of bodies share."""

import jax.numpy as jnp

from jaxspark import multibody as mb


T0 = jnp.zeros(())


def rod(name, mass, length, **options):
    return mb.Body(name, mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12, **options)


def four_bar(**options):
    """A crank of .3 m, a coupler of 1 m, a rocker of .8 m; pivots 1 m apart."""
    return mb.Mechanism(
        [rod("crank", 1.0, 0.3), rod("coupler", 1.5, 1.0), rod("rocker", 2.0, 0.8)],
        [
            mb.Revolute("A", "ground", "crank"),
            mb.Revolute("B", "crank", "coupler", position=(0.3, 0)),
            mb.Revolute("C", "coupler", "rocker", position=(1, 0), child_position=(0.8, 0)),
            mb.Revolute("D", "ground", "rocker", position=(1, 0)),
        ],
        gravity=(0, -9.81, 0), guess={"A": 1.0, "D": 1.5}, **options,
    )  # fmt: skip


START = {"free": [0.1, 0.2, -0.3, 1.0, -2.0, 0.5], "ball": [0.4, 1.0, -0.7], "hinge": 2.0}


def open_chain():
    """A free body, a ball, a hinge and a slide, none of them along an axis of coordinates."""
    inertia = [[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]
    return mb.Mechanism(
        [
            mb.Body("base", 2.0, com=(0.1, -0.2, 0.05), inertia=inertia),
            mb.Body("arm", 1.0, com=(0.2, 0.1, 0.3), inertia=inertia),
            mb.Body("plate", 0.5, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.15)),
            mb.Body("mass", 0.7, com=(0.02, 0, 0.1), inertia=0.01),
        ],
        [
            mb.Free("free", "ground", "base"),
            mb.Spherical(
                "ball", "base", "arm", position=(0.3, 0.1, 0), child_position=(0, 0, -0.2),
                quaternion=(0.8, 0.1, 0.5, -0.2), child_quaternion=(1, 0.3, 0, 0), damping=0.1,
            ),
            mb.Revolute(
                "hinge", "arm", "plate", position=(0, 0.2, 0.1), child_position=(0.1, 0, 0),
                axis=(1, 2, -1), stiffness=3.0, rest=0.2, armature=0.05,
            ),
            mb.Prismatic("slide", "plate", "mass", axis=(0, 1, 1), stiffness=40.0, damping=0.3),
        ],
        forces=[
            mb.Spring("rope", "ground", "mass", at_first=(1, 1, 1), stiffness=20.0, length=0.5),
            mb.PointForce("wind", "plate", lambda t, x, v, args: -0.2 * v, at=(0, 0.3, 0)),
            mb.Motor("drive", "hinge", lambda t, q, z, args: jnp.sin(3 * t) - 0.1 * z),
        ],
    )  # fmt: skip
