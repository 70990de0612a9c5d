"""
Legs of a robot
===============

Two legs with motors at hip and knee. A rod along each shin closes a loop, so that the lower part
follows without a motor of its own.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)


def follow(middle, size, phase, stiffness):  # N m
    def torque(t, q, z, args):
        goal = middle + size * jnp.sin(4.0 * t + phase)
        return stiffness * (goal - q) - 0.05 * stiffness * z

    return torque


PARTS = (("thigh", 6.0, 0.0), ("shin", 2.0, 0.0), ("rod", 0.2, 0.0), ("foot", 1.0, -0.08))
TREE = (("hip", None, "thigh", 0.0), ("knee", "thigh", "shin", 0.4), ("ankle", "shin", "foot", 0.4))
bodies, joints, motors, guess = [], [], [], {}
for name, phase in (("left ", 0.0), ("right ", jnp.pi)):
    for part, mass, heel in PARTS:  # of 40 cm
        line = [[heel, 0, 0], [0.4, 0, 0]]
        bodies.append(mb.Body(name + part, mass, com=(0.2, 0), inertia=0.013 * mass, lines=[line]))
    for joint, parent, child, along in (*TREE, ("crank", "thigh", "rod", 0.32)):
        first = name + parent if parent else "ground"
        joints.append(mb.Revolute(name + joint, first, name + child, position=(along, 0)))
    ends = {"position": (0.4, 0), "child_position": (-0.08, 0), "cut": True}
    joints.append(mb.Revolute(name + "heel", name + "rod", name + "foot", **ends))
    for joint, *law in (("hip", -2.0, 0.4, phase, 900.0), ("knee", 0.9, 0.3, phase + 1.5, 400.0)):
        motors.append(mb.Motor(f"{name}{joint} motor", name + joint, follow(*law)))
    guess |= {name + k: v for k, v in zip(("hip", "knee", "ankle", "crank"), (-2, 0.9, -0.9, 0.9))}
legs = mb.Mechanism(bodies, joints, forces=motors, gravity=(0, -9.81, 0), guess=guess)
y0, z0 = legs.state()
times = jnp.linspace(0.0, jnp.pi, 81)
motion = jaxspark.solve(legs.system, y0, z0, legs.parameters, t1=jnp.pi, ts=times, rtol=1e-5)
bodies_at = legs.shape()
film = pictures.animate(motion, lambda t, y: {k: x[:, :2] for k, x in bodies_at(t, y).items()})
