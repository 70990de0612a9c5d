"""
Excavator
=========

Three hydraulic cylinders move boom, arm and bucket. Each is a barrel and a piston, and closes a
loop; a controller pushes it towards a length that changes in time.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

BOOM, ARM = [[0, 0, 0], [2.5, 1.2, 0], [5, 0.6, 0]], [[-0.7, 0.3, 0], [0, 0, 0], [2.5, 0, 0]]
BUCKET = [[0, 0, 0], [0.4, 0.5, 0], [1.2, 0.2, 0], [1.1, -0.6, 0], [0, 0, 0]]
bodies = [
    mb.Body("boom", 1500, com=(2.5, 1), inertia=3e3, lines=[BOOM]),
    mb.Body("arm", 700.0, com=(0.9, 0.1), inertia=500.0, lines=[ARM]),
    mb.Body("bucket", 500.0, com=(0.6, 0.1), inertia=100.0, lines=[BUCKET]),
]
joints = [
    mb.Revolute("hip", "ground", "boom", damping=2e3),
    mb.Revolute("elbow", "boom", "arm", position=(5, 0.6), damping=1e3),
    mb.Revolute("wrist", "arm", "bucket", position=ARM[2], damping=500.0),
]
guess, motors = {"hip": 0.5, "elbow": -1.6, "wrist": -0.8, "boom foot": 1.2}, []


def push(stroke, phase):  # N
    return lambda t, q, z, args: 4e5 * (0.3 + stroke * jnp.sin(1.5 * t + phase) - q) - 1e5 * z


cylinders = (  # from, at, to, at, half its length, stroke and phase
    ("boom", "ground", (1.0, -0.5), "boom", (2.3, 1.0), 1.1, 0.3, 0.0),
    ("arm", "boom", (2.5, 1.3), "arm", ARM[0], 1.0, 0.35, 1.2),
    ("bucket", "arm", (0.3, 0.4), "bucket", BUCKET[1], 1.1, 0.2, 2.6),
)
for name, first, at, second, end, half, stroke, phase in cylinders:
    for part in ("barrel", "piston"):
        bodies.append(mb.Body(f"{name} {part}", 50, inertia=5.0, lines=[[(0,) * 3, (half, 0, 0)]]))
    joints.append(mb.Revolute(f"{name} foot", first, f"{name} barrel", position=at))
    along = {"position": (half, 0), "axis": (1, 0)}
    joints.append(mb.Prismatic(name, f"{name} barrel", f"{name} piston", **along))
    ends = {"position": (half, 0), "child_position": end, "cut": True}
    joints.append(mb.Revolute(f"{name} eye", f"{name} piston", second, **ends))
    motors.append(mb.Motor(f"{name} oil", name, push(stroke, phase)))
excavator = mb.Mechanism(bodies, joints, forces=motors, gravity=(0, -9.81, 0), guess=guess)
y0, z0 = excavator.state()
times = jnp.linspace(0.0, 8.4, 101)
motion = jaxspark.solve(excavator.system, y0, z0, excavator.parameters, t1=8.4, ts=times, rtol=1e-4)
bodies_at = excavator.shape()
film = pictures.animate(motion, lambda t, y: {k: x[:, :2] for k, x in bodies_at(t, y).items()})
