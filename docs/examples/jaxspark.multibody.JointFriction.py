import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, inertia, coefficient, radius, rate, duration = 2.0, 0.15, 0.3, 0.02, 3.0, 1.5
wheel = multibody.Mechanism(
    [multibody.Body("wheel", mass, inertia=inertia)],
    [multibody.Planar("motion", "ground", "wheel"), multibody.Revolute("axle", "ground", "wheel")],
    forces=[
        multibody.JointFriction(
            "dry", "axle", coefficient, radius=radius, slip_width=1e-4, load_floor=1e-4
        )
    ],
    gravity=(0, -9.81, 0),
)
y0, z0 = wheel.state(velocities={"motion": [None, None, rate]})
motion = jaxspark.solve(wheel.system, y0, z0, wheel.parameters, t1=duration)
print(motion.z1[2])
slower = coefficient * radius * mass * 9.81 * duration / inertia
assert abs(motion.z1[2] - (rate - slower)) < 1e-8
