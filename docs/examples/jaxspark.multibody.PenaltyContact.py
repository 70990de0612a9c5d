import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, stiffness, friction, speed = 2.0, 1e4, 0.3, 2.0
depth = (mass * 9.81 / stiffness) ** (2 / 3)  # at which the ball is at rest
puck = multibody.Mechanism(
    [multibody.Body("puck", mass, inertia=1e9)],  # it does not turn
    [multibody.Free("free", "ground", "puck")],
    forces=[
        multibody.PenaltyContact(
            "floor", "ground", "puck", multibody.Sphere(0.1), stiffness=stiffness,
            friction=friction, smooth=1e-9, slip=1e-6,
        )
    ],
)  # fmt: skip
y0, z0 = puck.state({"free": [0, 0, 0.1 - depth, 1, 0, 0, 0]}, {"free": [speed, 0, 0, 0, 0, 0]})
motion = jaxspark.solve(puck.system, y0, z0, puck.parameters, t1=0.4, rtol=1e-9)
print(motion.y1[:3], motion.z1[:3])
assert abs(motion.y1[2] - (0.1 - depth)) < 1e-8
assert abs(motion.z1[0] - (speed - friction * 9.81 * 0.4)) < 1e-6
