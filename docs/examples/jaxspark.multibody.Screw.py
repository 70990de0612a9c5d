import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, inertia, pitch = 2.0, 0.3, 0.4  # kg, kg m^2, m/rad
spindle = multibody.Mechanism(
    [multibody.Body("nut", mass, inertia=inertia)],
    [multibody.Screw("thread", "ground", "nut", pitch=pitch)],  # about the vertical
)
y0, z0 = spindle.state()
motion = jaxspark.solve(spindle.system, y0, z0, spindle.parameters, t1=1.0)
height = spindle.position("nut", motion.y1)[2]
print(motion.y1, height)
# Weight turns the nut, which sinks: (inertia + mass pitch^2) q'' = -mass g pitch.
acceleration = -mass * 9.81 * pitch / (inertia + mass * pitch**2)
assert abs(motion.y1[0] - 0.5 * acceleration) < 1e-8
assert abs(height - pitch * motion.y1[0]) < 1e-13
