import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

radius, mass, inertia = 0.04, 2.5, 3e-3
drive = multibody.Mechanism(
    [multibody.Body("pinion", 0.5, inertia=inertia), multibody.Body("rack", mass)],
    [
        multibody.Revolute("turn", "ground", "pinion"),
        multibody.Prismatic("shift", "ground", "rack", axis=(1, 0, 0)),
    ],
    constraints=[multibody.RackAndPinion("teeth", "shift", "turn", radius=radius)],
    forces=[multibody.Motor("motor", "turn", lambda t, q, z, args: 0.3)],
)
y0, z0 = drive.state()
motion = jaxspark.solve(drive.system, y0, z0, drive.parameters, t1=1.0)
shift = drive.coordinates(motion.y1)["shift"][0]
print(shift)
assert abs(shift - radius * 0.5 * 0.3 / (inertia + mass * radius**2)) < 1e-7
