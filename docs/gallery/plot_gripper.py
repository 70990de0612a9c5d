"""
Gripper
=======

Two fingers of four bars each. A rod that slides between them, pushed by a motor, closes them.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

FINGER = jnp.array([[0, 0, 0], [0.02, 0.05, 0], [0, 0.09, 0]])  # m
bodies = [mb.Body("rod", 0.2, lines=[[[0, -0.06, 0], [0, 0, 0]]])]
joints = [mb.Prismatic("slide", "ground", "rod", axis=(0, 1), damping=2.0)]
guess = {}
for name, side in (("left", -1), ("right", 1)):
    x = side * 0.03
    for bar, offset in (("inner", 0.0), ("outer", 0.02 * side)):  # of 6 cm, outward
        bodies.append(mb.Body(f"{name} {bar}", 0.05, com=(0.03, 0), inertia=2e-5))
        place = {"position": (x + offset, 0.02)}
        joints.append(mb.Revolute(f"{name} {bar}", "ground", f"{name} {bar}", **place))
        guess[f"{name} {bar}"] = jnp.pi / 2 - side * 0.6
    tip = FINGER * jnp.array([side, 1, 1])
    foot = [[0, 0, 0], [0.02 * side, 0, 0]]
    bodies.append(mb.Body(f"{name} tip", 0.08, com=(0, 0.04), inertia=5e-5, lines=[tip, foot]))
    end, held = {"position": (0.06, 0)}, {"child_position": (0.02 * side, 0), "cut": True}
    joints.append(mb.Revolute(f"{name} wrist", f"{name} inner", f"{name} tip", **end))
    joints.append(mb.Revolute(f"{name} hold", f"{name} outer", f"{name} tip", **end, **held))
    guess[f"{name} wrist"] = side * 0.6 - jnp.pi / 2
    bodies.append(mb.Body(f"{name} link", 0.02, com=(0, -0.04), inertia=1e-5))
    at = {"position": (0, 0.02 * side)}
    joints.append(mb.Revolute(f"{name} crank", f"{name} inner", f"{name} link", **at))
    ends = {"child_position": (0, -0.08), "cut": True}
    joints.append(mb.Revolute(f"{name} pull", "rod", f"{name} link", **ends))
    guess[f"{name} crank"] = side * 0.4 - jnp.pi / 2


def push(t, q, z, args):  # N, towards a length that changes in time
    return 2000.0 * (args["open"] - 0.006 * (1 - jnp.cos(3 * t)) - q) - 40.0 * z


motor = mb.Motor("motor", "slide", push)
gripper = mb.Mechanism(bodies, joints, forces=[motor], gravity=(0, 0, 0), guess=guess)
y0, z0 = gripper.state()
args = gripper.parameters | {"open": gripper.coordinates(y0)["slide"][0]}
times = jnp.linspace(0.0, 2.1, 64)
motion = jaxspark.solve(gripper.system, y0, z0, args, t1=2.1, ts=times)
bodies_at = gripper.shape()
film = pictures.animate(motion, lambda t, y: {k: x[:, :2] for k, x in bodies_at(t, y).items()})
